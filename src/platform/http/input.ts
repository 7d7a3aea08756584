import { isUtf8 } from 'node:buffer'
import { badRequest } from '../../domain/errors.ts'
import { cut, isStorable, storable } from '../../domain/text.ts'
import type { App } from './app.ts'
import { refuseEncodedBodies } from './malformed-request.ts'
import { InvalidRequest } from './validation.ts'

const MAX_DEPTH = 100
const BYTE_ORDER_MARK = 0xfeff

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

const isNestedTooDeep = (bytes: Buffer): boolean => {
  let depth = 0
  let quoted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) quoted = !quoted
    else if (quoted) at += byte === BACKSLASH ? 1 : 0
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      if (++depth > MAX_DEPTH) return true
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth--
  }
  return false
}

/** The escapes in valid JSON: surrogate pairs first, then those that cannot be stored, then all others. */
const ESCAPES = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(u0000|ud[89a-f][0-9a-f]{2})|.)/gi

const hasUnstorable = (json: string): boolean => {
  if (!json.includes('\\u')) return false
  for (const [, unstorable] of json.matchAll(ESCAPES)) if (unstorable !== undefined) return true
  return false
}

const MAX_PATH = 200

/** The path of the first key or string that cannot be stored, such as `.a[0]`; null if there is none. */
const pathOfUnstorable = (value: unknown): string | null => {
  if (typeof value === 'string') return isStorable(value) ? null : ''
  if (typeof value !== 'object' || value === null) return null
  for (const [name, item] of Object.entries(value)) {
    const path = isStorable(name) ? pathOfUnstorable(item) : ''
    if (path !== null) return (Array.isArray(value) ? `[${name}]` : `.${storable(name)}`) + path
  }
  return null
}

/** Keys in valid JSON that may be __proto__, each of whose characters may be escaped. */
const NINE_CHARACTERS = /(?<!\\)"(?:[_prot]|\\u00[567][0-9a-f]){9}"(?=\s*:)/gi

const hasProto = (json: string): boolean => {
  for (const [key] of json.matchAll(NINE_CHARACTERS)) if (JSON.parse(key) === '__proto__') return true
  return false
}

/**
 * Rejects characters that PostgreSQL cannot store, nesting that is too deep, and the key __proto__. Searching valid JSON as text
 * takes a few milliseconds; visiting each value of a large body took 0.2 s.
 */
const assertStorable = (bytes: Buffer, json: string, body: unknown): void => {
  if (isNestedTooDeep(bytes)) throw new InvalidRequest(`The JSON body is nested deeper than ${MAX_DEPTH} levels.`)
  if (hasUnstorable(json)) {
    // No path if the body is a string, or repeats a key: its last value counts.
    const path = cut(pathOfUnstorable(body)?.replace(/^\./, '') || 'The JSON body', MAX_PATH)
    throw new InvalidRequest(`${path} contains U+0000 or an unpaired surrogate, which cannot be stored. Remove it.`)
  }
  if (hasProto(json)) throw new InvalidRequest('The JSON body must not contain the key __proto__.')
}

/** Parses JSON in a field of a form or a query, with the limit on nesting of a body. @throws bad_request naming the field */
export const parseJsonField = (field: string, text: string, what = 'object'): unknown => {
  if (isNestedTooDeep(Buffer.from(text))) throw badRequest(`${field} is nested deeper than ${MAX_DEPTH} levels.`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`${field} must be a JSON ${what} (NaN is not JSON): ${(error as Error).message}`)
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
  assertStorable(bytes, text, body)
  return body
}

/**
 * Parses JSON bodies, and rejects characters that cannot be stored, in bodies and in URLs. An empty body counts as no body,
 * because many clients send the JSON content type without one.
 */
export const readInput = (app: App): void => {
  // After authentication, and before any code uses a path parameter.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    done(request.url.includes('%00') ? badRequest('The URL contains the character U+0000. Remove its %00.') : null)
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
