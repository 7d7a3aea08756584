import type { ResponseFormat } from '../../engine.ts'
import { anyText, type Closing, jsonObject, type ResponseGrammar, schemaResponse } from '../../json/response-grammar.ts'
import type { BatchContext, SamplerGrammar } from './binding/batch-context.ts'

/** What the sampler and the writer of one answer need of its format. */
export interface HeldFormat {
  /** null: every text. */
  readonly grammar: SamplerGrammar | null
  readonly closing: Closing
}

const MAX_KEPT = 16

/** The grammars that were used last, read once for all answers under them. */
export const createResponseGrammars = (
  context: Pick<BatchContext, 'readGrammar'>,
): ((format: ResponseFormat) => HeldFormat) => {
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
  return (format) => {
    if (format.type === 'text') return { grammar: null, closing: anyText }
    if (format.type === 'json_object') return read('', () => jsonObject)
    return read(format.compiled.key, () => schemaResponse(format.compiled))
  }
}
