import { InferenceError } from '../errors.ts'
import { invalid, isObject } from './request-body.ts'

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
