import type { GgufContainer } from './container.ts'
import type { metadataOf } from './dimensions.ts'
import type { HeaderReader } from './header-reader.ts'
import { invalidModel, quoted } from './invalid-model.ts'
import type { MetadataEntry } from './metadata.ts'

/** Values of 'tokenizer.ggml.model' that need merges (llama-vocab.cpp). */
const WITH_MERGES: ReadonlySet<string> = new Set(['gpt2', 'gemma4', 'hybriddna', 'whitespace'])
const TOKENS = 'tokenizer.ggml.tokens'

/** Checks the tokenizer's tables, and returns the number of tokens. llama.cpp aborts on a vocabulary with duplicates. */
export const readVocabulary = (
  reader: HeaderReader,
  container: GgufContainer,
  metadata: ReturnType<typeof metadataOf>,
): number => {
  const { path } = reader
  const model = metadata.text('tokenizer.ggml.model')
  if (model === undefined) throw metadata.missing('tokenizer.ggml.model')
  const preparation = metadata.text('tokenizer.ggml.pre')
  const merges = container.metadata.get('tokenizer.ggml.merges')
  if (merges === undefined ? WITH_MERGES.has(model) && preparation !== 'kimi-k2' : merges.itemType !== 'string')
    throw invalidModel(path, "has no list of strings in 'tokenizer.ggml.merges', which its tokenizer needs.")
  const tokens = container.metadata.get(TOKENS)
  if (tokens === undefined) throw metadata.missing(TOKENS)
  if (tokens.itemType !== 'string' || tokens.length === 0)
    throw invalidModel(path, `has no list of strings in '${TOKENS}'.`)
  for (const [key, types] of [
    ['tokenizer.ggml.scores', ['f32', 'i32']],
    ['tokenizer.ggml.token_type', ['i32']],
  ] as const) {
    const table = container.metadata.get(key)
    if (table === undefined) continue
    if (!types.some((type) => type === table.itemType) || table.length < tokens.length)
      throw invalidModel(
        path,
        `has ${table.length} ${table.itemType ?? table.type} in '${key}'; there must be ${types[0]} for each of its ${tokens.length} tokens.`,
      )
  }
  for (const key of container.metadata.keys()) {
    if (/^tokenizer\.ggml\.[a-z_]+_token_id$/.test(key)) metadata.count(key, 0, 2 ** 32 - 1)
    if (/^tokenizer\.ggml\.add_[a-z_]+$/.test(key)) metadata.flag(key)
  }
  metadata.text('tokenizer.chat_template')
  if (!tokens.differ) assertDifferent(reader, tokens)
  return tokens.length
}

/** Reads the tokens from the file again, so that a large vocabulary is not kept in memory. */
const assertDifferent = (reader: HeaderReader, { valueStart, length }: MetadataEntry): void => {
  const end = reader.position
  reader.seek(valueStart)
  const seen = new Map<string, number>()
  for (let id = 0; id < length; id++) {
    // latin1, because tokens need not be UTF-8. llama.cpp reads them up to the first zero.
    const bytes = reader.stringBytes(`token ${id}`, 1 << 20).toString('latin1')
    const text = bytes.split('\0', 1)[0] || `[EMPTY_${id}]`
    const other = seen.get(text)
    if (other !== undefined)
      throw invalidModel(reader.path, `has the token ${quoted(text)} twice, as ${other} and as ${id}, in '${TOKENS}'.`)
    seen.set(text, id)
  }
  reader.seek(end)
}
