import type { FastifyRequest } from 'fastify'
import type { App } from './app.ts'

export const WARNING_HEADER = 'X-Service-Warning'

const MAX_LENGTH = 2000
const NOT_IN_A_HEADER = /[^\x20-\x7e]/g

/** As in JSON: `\u00fc`. */
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const warnings = new WeakMap<object, string[]>()

/**
 * Adds a warning to the response of an accepted request: an unknown field, a number out of range. All warnings of a
 * request are sent in one `X-Service-Warning` header, separated by `; `.
 */
export const warn = (request: FastifyRequest, message: string): void => {
  const known = warnings.get(request)
  if (known === undefined) warnings.set(request, [message])
  else if (!known.includes(message)) known.push(message)
}

export const sendWarnings = (app: App): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const text = warnings.get(request)?.join('; ').replace(NOT_IN_A_HEADER, escaped)
    if (text !== undefined)
      reply.header(WARNING_HEADER, text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}...` : text)
    done(null, payload)
  })
}
