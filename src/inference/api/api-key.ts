import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { App } from '../../platform/http/app.ts'
import { InferenceError } from '../errors.ts'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns the keys in the header that OpenAI's clients use and in the one that Anthropic's use. */
const keysIn = ({ authorization, 'x-api-key': own }: IncomingHttpHeaders): readonly string[] => {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  return [bearer, own].filter((key) => typeof key === 'string')
}

/** Requires the key on every route under /v1, and on /metrics. The comparison takes constant time. */
export const requireKey = (app: App, apiKey: string): void => {
  const expected = digest(apiKey)
  app.addHook('onRequest', (request, _reply, done) => {
    const { url } = request.routeOptions
    if (!url?.startsWith('/v1/') && url !== '/metrics') return done()
    const keys = keysIn(request.headers)
    if (keys.some((key) => timingSafeEqual(digest(key), expected))) return done()
    const what = keys.length === 0 ? 'This server requires an API key' : 'That is not the API key of this server'
    const how = 'Send the key that svc serve was started with, as Authorization: Bearer <key> or x-api-key: <key>.'
    done(new InferenceError('invalid_api_key', `${what}. ${how}`))
  })
}
