import { isUtf8 } from 'node:buffer'
import { badRequest } from '../../domain/errors.ts'
import { isStorable } from '../../domain/text.ts'
import type { App } from './app.ts'
import { refuseEncodedBodies } from './malformed-request.ts'
import { InvalidRequest } from './validation.ts'

const MAX_DEPTH = 100
const BYTE_ORDER_MARK = 0xfeff

/** A nesting of n levels takes at least 2n characters. Bad characters must be escaped; __proto__ is escaped or literal. */
const isSuspect = (text: string): boolean =>
  text.length > 2 * MAX_DEPTH || text.includes('\\u') || text.includes('__proto__')

/** Rejects characters that PostgreSQL cannot store, nesting that is too deep, and the key __proto__. */
const assertStorable = (body: unknown): void => {
  let level: unknown[] = [body]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new InvalidRequest(`The JSON body is nested deeper than ${MAX_DEPTH} levels.`)
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'string' && !isStorable(value)) {
        throw new InvalidRequest('The JSON body contains U+0000 or half a surrogate pair, which cannot be stored.')
      }
      if (typeof value !== 'object' || value === null) continue
      if (Object.hasOwn(value, '__proto__'))
        throw new InvalidRequest('The JSON body must not contain the key __proto__.')
      if (Array.isArray(value)) for (const item of value) next.push(item)
      else for (const [key, item] of Object.entries(value)) next.push(key, item)
    }
    level = next
  }
}

const parse = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined
  // Decoding would replace the bytes that are not.
  if (!isUtf8(bytes)) throw new InvalidRequest('The body is not valid UTF-8. Send the JSON encoded as UTF-8.')
  const text = bytes.toString()
  let body: unknown
  try {
    body = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text)
  } catch (error) {
    throw new InvalidRequest(`The body is not valid JSON: ${(error as Error).message}.`)
  }
  if (isSuspect(text)) assertStorable(body)
  return body
}

/**
 * Parses JSON bodies, and rejects characters that cannot be stored, in bodies and in URLs. An empty body counts as no body,
 * because many clients send the JSON content type without one.
 */
export const readInput = (app: App): void => {
  // After authentication, and before any code uses a path parameter.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    done(request.url.includes('%00') ? badRequest('The URL contains the character U+0000.') : null)
  })

  refuseEncodedBodies(app, badRequest)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes)
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, body)
  })
}
