import { setTimeout as sleep } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { formatValidationErrors } from '../../platform/http/validation-errors.ts'
import { InferenceError } from '../errors.ts'

/** Deeper than any schema that a person writes, and shallow enough for whatever walks it by recursion. */
const MAX_DEPTH = 100
const UTF8 = new TextDecoder('utf-8', { fatal: true })

export const invalid = (message: string, param?: string): InferenceError =>
  new InferenceError('invalid_request', message, param === undefined ? {} : { param })

export const unsupported = (message: string, param: string): InferenceError =>
  new InferenceError('unsupported', message, { param })

/** The largest schema that is taken has a fifth of it. Reading many small values takes longer than reading a long text. */
const MAX_VALUES = 100_000
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Before anything is made of it: a glance at brackets and commas, which need not yet be JSON. */
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

/** The JSON value in these bytes; undefined when there are none. @throws InferenceError invalid_request */
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

/** Reading more takes milliseconds. */
const LONG = 32 * 1024

/** Reads bodies one after another where they are long, and after each one leaves others as much time as it took. */
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

/** `/messages/0/content` -> `messages[0].content`, as OpenAI names fields. */
const paramOf = (path: string): string | undefined => {
  const [first, ...rest] = path
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 100))
  return first === ''
    ? undefined
    : rest.reduce((name, step) => name + (/^\d+$/.test(step) ? `[${step}]` : `.${step}`), first)
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws InferenceError unsupported for a field of an object inside a body that is none of `known`, unless it is null or an empty array */
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

/**
 * Checks bodies against a schema. Fields that are null count as absent, as they do at OpenAI; fields that the schema does
 * not know are left to the caller.
 * @returns the body as the schema has it. It throws InferenceError invalid_request, which names the field.
 */
export const bodyReader = <S extends TSchema>(schema: S): ((body: unknown) => Static<S>) => {
  const compiled = Compile(schema)
  return (body) => {
    const value = isObject(body) ? Object.fromEntries(Object.entries(body).filter(([, field]) => field !== null)) : body
    if (compiled.Check(value)) return value as Static<S>
    const errors = compiled.Errors(value)
    // What is below an anyOf is told by the anyOf itself.
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
 * What clients of OpenAI's API and of other local servers send beside the fields that are understood here, and which values
 * of it ask for nothing: those are let through, every other is refused rather than ignored.
 */
const FOREIGN: Readonly<Record<string, Harmless>> = {
  // About the caller, or hints that change no answer.
  user: anything,
  safety_identifier: anything,
  metadata: anything,
  prompt_cache_key: anything,
  prompt_cache_retention: anything,
  service_tier: is('auto', 'default'),
  store: is(false),
  // Sampling that is not done here.
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
  // Abilities that are not there.
  functions: empty,
  function_call: is('none', 'auto'),
  modalities: (value) => Array.isArray(value) && value.every((kind) => kind === 'text'),
  verbosity: is('medium'),
  reasoning_effort: is('none'),
  reasoning: empty,
  audio: never,
  prediction: never,
  web_search_options: never,
  grammar: never,
  best_of: is(1),
  echo: is(false),
}

/**
 * @param own fields of one API, in addition or instead
 * @throws InferenceError for a field of the body that is not among `known` and asks for something.
 */
export const refuseForeign = (
  body: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
  own: Readonly<Record<string, Harmless>> = {},
): void => {
  const foreign = { ...FOREIGN, ...own }
  for (const [name, value] of Object.entries(body)) {
    if (value === null || known.has(name)) continue
    const shown = name.slice(0, 100)
    const harmless = Object.hasOwn(foreign, name) ? foreign[name] : undefined
    if (harmless === undefined) throw invalid(`'${shown}' is not a field of this request. Leave it out.`, shown)
    if (harmless(value)) continue
    throw new InferenceError(
      'unsupported',
      `'${shown}' is not supported by this server with that value. Leave it out.`,
      {
        param: shown,
      },
    )
  }
}
