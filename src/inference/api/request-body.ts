import { setTimeout as sleep } from 'node:timers/promises'
import type { Static, TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { infiniteIn } from '../../domain/infinite-number.ts'
import { isObject } from '../../domain/is-object.ts'
import { fieldAt } from '../../domain/json-pointer.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { formatValidationErrors } from '../../platform/http/validation-errors.ts'
import { InferenceError } from '../errors.ts'

/** Deeper than any handwritten schema, and shallow enough for recursive functions. */
const MAX_DEPTH = 100
const UTF8 = new TextDecoder('utf-8', { fatal: true })

export const invalid = (message: string, param?: string): InferenceError =>
  new InferenceError('invalid_request', message, param === undefined ? {} : { param })

export const unsupported = (message: string, param: string): InferenceError =>
  new InferenceError('unsupported', message, { param })

/** Five times as many as the largest accepted schema. Parsing many small values takes longer than parsing one long text. */
const MAX_VALUES = 100_000
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Checks depth and size before parsing, by counting brackets and commas. */
const assertModest = (bytes: Uint8Array): void => {
  let depth = 0
  let values = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) inString = !inString
    else if (inString) i += byte === BACKSLASH ? 1 : 0
    else if (byte === COMMA) values++
    else if (OPENING.has(byte)) {
      values++
      if (++depth > MAX_DEPTH) throw invalid(`The JSON body is nested deeper than ${MAX_DEPTH} levels.`)
    } else if (CLOSING.has(byte)) depth--
    if (values > MAX_VALUES) throw invalid(`The JSON body has more than ${MAX_VALUES} values.`)
  }
}

/** Parses the bytes as JSON; undefined if there are none. @throws InferenceError invalid_request */
export const parseJson = (bytes: Uint8Array): unknown => {
  if (bytes.length === 0) return undefined
  assertModest(bytes)
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    throw invalid('The body is not valid UTF-8.')
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${(error as Error).message}.`)
  }
}

/** Parsing more than this takes milliseconds. */
const LONG = 32 * 1024

/** Parses long bodies one at a time, and after each one pauses for as long as it took so that other work can run. */
export const createBodyParser = (): ((bytes: Uint8Array) => Promise<unknown>) => {
  let last: Promise<unknown> = Promise.resolve()
  return (bytes) => {
    if (bytes.length <= LONG) return Promise.resolve().then(() => parseJson(bytes))
    let tookMs = 0
    const parsed = last.then(() => {
      const began = performance.now()
      try {
        return parseJson(bytes)
      } finally {
        tookMs = performance.now() - began
      }
    })
    const rest = (): Promise<void> => sleep(tookMs)
    last = parsed.then(rest, rest)
    return parsed
  }
}

/** `/messages/0/content` -> `messages[0].content`, OpenAI's notation for fields. */
const paramOf = (path: string): string | undefined => fieldAt(path) || undefined

/** @throws InferenceError unsupported for a field of a nested object outside `known`, unless it is null or an empty array */
export const assertOnly = (value: unknown, at: string, known: readonly string[], hint?: string): void => {
  for (const [name, field] of Object.entries(isObject(value) ? value : {})) {
    if (known.includes(name) || field === null || (Array.isArray(field) && field.length === 0)) continue
    const where = `${at}.${name.slice(0, 100)}`
    throw unsupported(
      `${where} is not supported. ${hint ?? `Supported here: ${known.join(', ')}. Leave it out.`}`,
      where,
    )
  }
}

export const withoutNull = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))

/**
 * Returns a function that checks bodies against a schema. Null fields count as absent, as in OpenAI's API. Fields that are not
 * in the schema are left to the caller.
 * The function throws InferenceError invalid_request, which names the field.
 */
export const bodyReader = <S extends TSchema>(schema: S): ((body: unknown) => Static<S>) => {
  const compiled = Compile(schema)
  return (body) => {
    const value = isObject(body) ? withoutNull(body) : body
    if (compiled.Check(value)) return value as Static<S>
    const errors = compiled.Errors(value)
    // Errors inside an anyOf are covered by the anyOf's own error.
    const error = errors.find(({ schemaPath }) => !/\/anyOf\/\d+/.test(schemaPath)) ?? errors[0]
    const missing = error?.keyword === 'required' ? `/${error.params.requiredProperties[0]}` : ''
    throw invalid(formatValidationErrors('body', schema, value, errors), paramOf((error?.instancePath ?? '') + missing))
  }
}

type Harmless = (value: unknown) => boolean

export const anything: Harmless = () => true
export const is =
  (...values: readonly unknown[]): Harmless =>
  (value) =>
    values.includes(value)
export const empty: Harmless = (value) =>
  isObject(value) ? Object.keys(value).length === 0 : Array.isArray(value) && value.length === 0
export const never: Harmless = () => false

/**
 * Fields of OpenAI's API and of other local servers that are not supported here, with the values that have no effect. Those
 * values are accepted; all others are refused rather than ignored.
 */
const FOREIGN: Readonly<Record<string, Harmless>> = {
  // Information about the caller, or hints that do not change the answer.
  user: anything,
  safety_identifier: anything,
  metadata: anything,
  prompt_cache_key: anything,
  prompt_cache_retention: anything,
  prompt_cache_options: anything,
  service_tier: is('auto', 'default'),
  store: is(false),
  // Sampling options that are not supported, or not by every API.
  presence_penalty: is(0),
  frequency_penalty: is(0),
  logit_bias: empty,
  logprobs: is(false),
  top_logprobs: is(0),
  top_k: is(0, -1),
  min_p: is(0),
  typical_p: is(1),
  repeat_penalty: is(1),
  repetition_penalty: is(1),
  // Unsupported features.
  functions: empty,
  function_call: is('none', 'auto'),
  modalities: (value) => Array.isArray(value) && value.every((kind) => kind === 'text'),
  // It only suggests how long texts should be.
  verbosity: is('low', 'medium', 'high'),
  reasoning: empty,
  audio: never,
  prediction: never,
  web_search_options: never,
  grammar: never,
  best_of: is(1),
  echo: is(false),
}

const NOT_STORED = 'Nothing is stored here: send the whole conversation.'

/** What to do about fields that a client cannot just leave out. */
const ADVICE: Readonly<Record<string, string>> = {
  functions: 'Send tools.',
  function_call: 'Send tools and tool_choice.',
  previous_response_id: NOT_STORED,
  conversation: NOT_STORED,
}

/**
 * @param own additions or replacements for one API
 * @throws InferenceError for a field that is not in `schema`, unless its value has no effect
 */
export const refuseForeign = (
  body: Readonly<Record<string, unknown>>,
  schema: TObject,
  own: Readonly<Record<string, Harmless>> = {},
): void => {
  const foreign = { ...FOREIGN, ...own }
  for (const [name, value] of Object.entries(body)) {
    if (value === null || Object.hasOwn(schema.properties, name)) continue
    const shown = name.slice(0, 100)
    const harmless = ownEntry(foreign, name)
    if (harmless === undefined) throw invalid(`'${shown}' is not a field of this request. Leave it out.`, shown)
    if (harmless(value)) continue
    const advice = ownEntry(ADVICE, name) ?? 'Leave it out.'
    throw unsupported(`'${shown}' has a value that this server does not support. ${advice}`, shown)
  }
}

/**
 * Refuses numbers such as 1e400, which JSON.parse reads as infinite and JSON.stringify would write as null.
 * @throws InferenceError invalid_request
 */
export const assertFinite = (value: unknown, field: string): void => {
  const place = infiniteIn(value)
  if (place === null) return
  throw invalid(`${field} has a number at '#${place}' that is out of range. Use one within ±1.79e308.`, field)
}
