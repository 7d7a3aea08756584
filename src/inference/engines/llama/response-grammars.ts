import { InferenceError } from '../../errors.ts'
import {
  type Closing,
  type CompiledSchema,
  jsonObject,
  type ResponseGrammar,
  schemaResponse,
} from '../../structured-output/compile-schema.ts'
import type { ToolSyntax } from '../../structured-output/tool-syntax.ts'
import type { ChatRequest } from '../engine.ts'
import type { Detokenizer } from '../text/text-stream.ts'
import type { BatchContext } from './binding/batch-context.ts'
import type { LlamaModel } from './binding/load-model.ts'
import type { GrammarTrigger, SamplerGrammar } from './binding/token-sampler.ts'

/** The rules that keep a reply in its format, or its function calls valid. */
export interface ResponseRules {
  readonly grammar: SamplerGrammar
  /** Set if calls are optional. The grammar then applies from where the model starts a call. */
  readonly trigger: GrammarTrigger | null
  readonly closing: Closing
  /** Decodes tokens like the grammar; null if the model does not define their bytes. */
  readonly reader: Detokenizer | null
}

type OutputConstraint = Pick<ChatRequest, 'responseFormat' | 'toolUse'>

/** True if a reply may be any text. */
export const isAnyText = ({ responseFormat, toolUse }: OutputConstraint): boolean =>
  !toolUse && responseFormat.type === 'text'

/** True if a reply may be any text until a call begins in it. */
export const isTriggerable = ({ responseFormat, toolUse }: OutputConstraint): boolean =>
  toolUse?.choice === 'auto' && responseFormat.type === 'text'

/** Returns the compiled grammar, if the request needs one. */
const compiledOf = ({ responseFormat, toolUse }: OutputConstraint): CompiledSchema | null => {
  if (!toolUse && responseFormat.type !== 'json_schema') return null
  const compiled = toolUse ? toolUse.compiled : responseFormat.type === 'json_schema' ? responseFormat.compiled : null
  if (compiled === null) throw new Error('The JSON schema was not compiled.')
  return compiled
}

const MAX_KEPT = 16
const MAX_SIZES = 256

/**
 * Refuses a schema whose shortest answer takes more than `limit` tokens. Counting a long one takes milliseconds in which
 * nothing else is computed, so the count is cached.
 */
const createSizeCheck = (tokenize: (text: string) => Uint32Array) => {
  const sizes = new Map<string, number>()
  return ({ key, smallest }: CompiledSchema, limit: number, { responseFormat }: OutputConstraint): void => {
    // Every token has at least one byte.
    if (Buffer.byteLength(smallest) <= limit) return
    const size = sizes.get(key) ?? tokenize(smallest).length
    sizes.set(key, size)
    if (sizes.size > MAX_SIZES) for (const [oldest] of [...sizes].slice(0, 1)) sizes.delete(oldest)
    if (size <= limit) return
    const reply = responseFormat.type === 'text' ? 'function call that is valid' : 'reply that fits the JSON schema'
    throw new InferenceError(
      'invalid_request',
      `The shortest ${reply} takes ${size} tokens, but the limit is ${limit}. Raise max_tokens, shorten the messages, or ask for less.`,
      { param: 'max_tokens' },
    )
  }
}

/** A cache of the grammars used last. Each is parsed once for all of its answers. */
const createGrammarCache = (context: Pick<BatchContext, 'readGrammar'>) => {
  const kept = new Map<string, { readonly rules: SamplerGrammar; readonly response: ResponseGrammar }>()
  return (key: string, open: () => ResponseGrammar) => {
    const known = kept.get(key)
    const response = known?.response ?? open()
    const entry = known ?? { response, rules: context.readGrammar(response.gbnf) }
    kept.delete(key)
    kept.set(key, entry)
    if (kept.size > MAX_KEPT) for (const [oldest] of [...kept].slice(0, 1)) kept.delete(oldest)
    return { grammar: entry.rules, closing: entry.response.follow() }
  }
}

/** Returns rules for replies of at most `limit` tokens that may not be any text. Throws for a schema that does not fit. */
export const createResponseRules = (
  context: Pick<BatchContext, 'readGrammar'>,
  { tokenize, bytesOf }: Pick<LlamaModel, 'tokenize' | 'bytesOf'>,
  syntax: ToolSyntax,
): ((request: OutputConstraint, limit: number) => ResponseRules) => {
  const read = createGrammarCache(context)
  const checkSize = createSizeCheck((text) => tokenize(text, false))
  return (request, limit) => {
    const compiled = compiledOf(request)
    if (compiled !== null) checkSize(compiled, limit, request)
    const rules = compiled === null ? read('', () => jsonObject) : read(compiled.key, () => schemaResponse(compiled))
    if (bytesOf === null) return { ...rules, trigger: null, reader: null }
    const textOf = (token: number): string => Buffer.from(bytesOf(token)).toString('latin1')
    const trigger = isTriggerable(request) ? { syntax, textOf } : null
    return { ...rules, trigger, reader: createGrammarReader(bytesOf) }
  }
}

/** The bits of a character's value in its first byte, by the number of bytes that follow. */
const FIRST_BITS = [0x7f, 0x3f, 0x1f, 0x0f] as const
const MAX_CODE_POINT = 0x10ffff

/**
 * Decodes tokens like llama.cpp's grammars: control words by their letters, and overlong characters, which decode_utf8 in
 * llama-grammar.cpp accepts. Decoded differently, an answer would not be what the grammar checked: four broken characters where
 * the grammar saw one.
 */
export const createGrammarReader = (bytesOf: (token: number) => Uint8Array): Detokenizer => {
  let value = 0
  let missing = 0
  const read = (byte: number): string => {
    if (missing > 0 && byte >> 6 === 0b10) {
      value = (value << 6) | (byte & 0x3f)
      missing--
    } else {
      missing = byte < 0xc0 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
      value = byte & FIRST_BITS[missing as 0 | 1 | 2 | 3]
    }
    if (missing > 0) return ''
    return value > MAX_CODE_POINT ? '\ufffd' : String.fromCodePoint(value)
  }
  return {
    push: (token) => Array.from(bytesOf(token), read).join(''),
    end: () => '',
  }
}
