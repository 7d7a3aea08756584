import { InferenceError } from '../../errors.ts'
import {
  anyText,
  type Closing,
  type CompiledSchema,
  jsonObject,
  type ResponseGrammar,
  schemaResponse,
} from '../../structured-output/compile-schema.ts'
import type { ChatRequest } from '../engine.ts'
import type { BatchContext, SamplerGrammar } from './binding/batch-context.ts'

/** What the sampler and the writer of one answer need of its format. */
export interface HeldFormat {
  /** null: every text. */
  readonly grammar: SamplerGrammar | null
  readonly closing: Closing
}

/** What a reply has to be: in a format, or calls of functions. */
export type Held = Pick<ChatRequest, 'responseFormat' | 'toolUse'>

/** The grammar that was compiled for it, where one was. */
export const compiledOf = ({ responseFormat, toolUse }: Held): CompiledSchema | null => {
  if (!toolUse && responseFormat.type !== 'json_schema') return null
  const compiled = toolUse ? toolUse.compiled : responseFormat.type === 'json_schema' ? responseFormat.compiled : null
  if (compiled === null) throw new Error('The JSON schema was not compiled.')
  return compiled
}

const MAX_KEPT = 16
const MAX_SIZES = 256

/**
 * Refuses a schema whose shortest answer does not fit in an answer of `limit` tokens. A long one takes milliseconds to count,
 * in which nothing else is computed: that is done once.
 */
export const createSizeCheck = (tokenize: (text: string) => Uint32Array) => {
  const sizes = new Map<string, number>()
  return ({ key, smallest }: CompiledSchema, limit: number): void => {
    // No token has less than a byte.
    if (Buffer.byteLength(smallest) <= limit) return
    const size = sizes.get(key) ?? tokenize(smallest).length
    sizes.set(key, size)
    if (sizes.size > MAX_SIZES) for (const [oldest] of [...sizes].slice(0, 1)) sizes.delete(oldest)
    if (size > limit)
      throw new InferenceError(
        'invalid_request',
        `The shortest reply that fits the JSON schema takes ${size} tokens, but the limit is ${limit}. Raise max_tokens, shorten the messages, or ask for less.`,
        { param: 'max_tokens' },
      )
  }
}

/** The grammars that were used last, read once for all answers under them. */
export const createResponseGrammars = (context: Pick<BatchContext, 'readGrammar'>): ((held: Held) => HeldFormat) => {
  const kept = new Map<string, { readonly rules: SamplerGrammar; readonly response: ResponseGrammar }>()
  const read = (key: string, open: () => ResponseGrammar) => {
    const known = kept.get(key)
    const response = known?.response ?? open()
    const entry = known ?? { response, rules: context.readGrammar(response.gbnf) }
    kept.delete(key)
    kept.set(key, entry)
    if (kept.size > MAX_KEPT) for (const [oldest] of [...kept].slice(0, 1)) kept.delete(oldest)
    return { grammar: entry.rules, closing: entry.response.follow() }
  }
  return (held) => {
    const compiled = compiledOf(held)
    if (compiled !== null) return read(compiled.key, () => schemaResponse(compiled))
    return held.responseFormat.type === 'text' ? { grammar: null, closing: anyText } : read('', () => jsonObject)
  }
}
