import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { badRequest } from '../../../domain/errors.ts'
import type { MetadataValue } from '../metadata-bytes.ts'
import { isJson, type Json, needJson, readJson } from './model-folder.ts'

type Metadata = Readonly<Record<string, MetadataValue>>

/** llama.h, enum llama_token_type. */
const TYPE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

/** llama.cpp's names for ways to split text before merging (llama-vocab.cpp), by part of the tokenizer's regular expression. */
const SPLITS: readonly (readonly [name: string, part: string])[] = [
  ['llama-bpe', '|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*'],
  ['qwen2', '|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*'],
]

interface AddedToken {
  readonly id: number
  readonly content: string
  readonly special: boolean
}

/**
 * Converts a folder's tokenizer (tokenizer.json with byte-level BPE, or BPE with byte fallback as converted from
 * SentencePiece) and chat template to llama.cpp's metadata. `vocabulary` may exceed the number of tokens: the rest is
 * unused. Throws bad_request for a tokenizer that llama.cpp would interpret differently.
 */
export const tokenizerMetadata = async (folder: string, vocabulary: number, config: Json): Promise<Metadata> => {
  const tokenizer = await needJson(folder, 'tokenizer.json')
  const settings = (await readJson(folder, 'tokenizer_config.json')) ?? {}
  const model = isJson(tokenizer.model) ? tokenizer.model : {}
  if (model.type !== 'BPE' || !isJson(model.vocab))
    throw badRequest(
      `The tokenizer in tokenizer.json is '${String(model.type)}'; only BPE tokenizers can be converted.`,
    )
  const added = addedTokens(tokenizer)
  const merges = readMerges(model)
  const { tokens, types } = readTokens(model.vocab, added, vocabulary)
  const isBytewise = model.byte_fallback !== true
  const template = await chatTemplate(folder, settings)
  return {
    ...(isBytewise ? bytewise(tokenizer, merges) : sentencePieces(tokens, types, merges)),
    'tokenizer.ggml.tokens': ['array', 'string', tokens],
    'tokenizer.ggml.token_type': ['array', 'i32', types],
    ...specialTokens(tokenizer, settings, config, tokens),
    ...(template !== null && { 'tokenizer.chat_template': ['string', template] }),
  }
}

const addedTokens = ({ added_tokens: added }: Json): readonly AddedToken[] =>
  (Array.isArray(added) ? added : []).filter(isJson).map(({ id, content, special }) => ({
    id: Number(id),
    content: String(content),
    special: special === true,
  }))

/** `"a b"`, or `["a", "b"]` since tokenizers 0.20. */
const readMerges = ({ merges }: Json): readonly string[] =>
  (Array.isArray(merges) ? merges : []).map((merge) => (Array.isArray(merge) ? merge.join(' ') : String(merge)))

const readTokens = (vocab: Json, added: readonly AddedToken[], vocabulary: number) => {
  const tokens = Array.from({ length: vocabulary }, (_, id) => `[PAD${id}]`)
  const types = new Array<number>(vocabulary).fill(TYPE.unused)
  const put = (id: unknown, text: string, type: number): void => {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= vocabulary)
      throw badRequest(
        `Token '${text.slice(0, 40)}' of tokenizer.json has the number ${String(id)}; the model has ${vocabulary} ('vocab_size' in config.json).`,
      )
    tokens[id] = text
    types[id] = type
  }
  for (const [text, id] of Object.entries(vocab)) put(id, text, TYPE.normal)
  for (const { id, content, special } of added) put(id, content, special ? TYPE.control : TYPE.userDefined)
  return { tokens, types }
}

const bytewise = (tokenizer: Json, merges: readonly string[]): Metadata => {
  const text = JSON.stringify(tokenizer.pre_tokenizer ?? {})
  const written = (part: string): string => JSON.stringify(part).slice(1, -1)
  const isGpt2 = /"type":"ByteLevel"/.test(text) && /"use_regex":true/.test(text) && !/"Split"/.test(text)
  // SmolLM splits numbers into digits before splitting like GPT-2.
  const like = !/"Digits"/.test(text) ? 'gpt-2' : /"individual_digits":true/.test(text) ? 'smollm' : undefined
  const split = SPLITS.find(([, part]) => text.includes(written(part)))?.[0] ?? (isGpt2 ? like : undefined)
  const { normalizer } = tokenizer
  if (split === undefined || (isJson(normalizer) && normalizer.type !== 'NFC'))
    throw badRequest(
      `tokenizer.json splits text in an unknown way ('pre_tokenizer' and 'normalizer'); those of Llama 3, Qwen 2 and 3, SmolLM, and GPT-2 are supported.`,
    )
  return {
    'tokenizer.ggml.model': ['string', 'gpt2'],
    'tokenizer.ggml.pre': ['string', split],
    'tokenizer.ggml.merges': ['array', 'string', merges],
  }
}

/**
 * llama.cpp merges the pair whose result has the highest score. The merges of a tokenizer from SentencePiece are in score
 * order, so the position of a token's first merge can serve as its score.
 */
const sentencePieces = (tokens: readonly string[], types: number[], merges: readonly string[]): Metadata => {
  const rank = new Map<string, number>()
  for (const [index, merge] of merges.entries()) {
    const made = merge.replace(' ', '')
    if (!rank.has(made)) rank.set(made, -index)
  }
  for (const [id, token] of tokens.entries()) {
    if (/^<0x[0-9A-F]{2}>$/.test(token)) types[id] = TYPE.byte
    if (token === '<unk>') types[id] = TYPE.unknown
  }
  return {
    'tokenizer.ggml.model': ['string', 'llama'],
    'tokenizer.ggml.pre': ['string', 'default'],
    'tokenizer.ggml.scores': ['array', 'f32', tokens.map((token) => rank.get(token) ?? -merges.length)],
  }
}

const specialTokens = (tokenizer: Json, settings: Json, config: Json, tokens: readonly string[]): Metadata => {
  const idOf = (name: string): number | undefined => {
    const setting = settings[`${name}_token`]
    const text = isJson(setting) ? setting.content : setting
    const found = typeof text === 'string' ? tokens.indexOf(text) : -1
    if (found >= 0) return found
    const given: unknown = config[`${name}_token_id`]
    const id: unknown = Array.isArray(given) ? given[0] : given
    return typeof id === 'number' && id >= 0 && id < tokens.length ? id : undefined
  }
  const ids = { bos: idOf('bos'), eos: idOf('eos'), unknown: idOf('unk'), padding: idOf('pad') }
  const bosText = ids.bos === undefined ? null : tokens[ids.bos]
  const template = JSON.stringify(isJson(tokenizer.post_processor) ? tokenizer.post_processor : {})
  const startsWithBos =
    bosText !== null && template.includes(`"single":[{"SpecialToken":{"id":${JSON.stringify(bosText)}`)
  const addsBos = typeof settings.add_bos_token === 'boolean' ? settings.add_bos_token : startsWithBos
  return {
    ...Object.fromEntries(
      Object.entries(ids).flatMap(([name, id]) =>
        id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, ['u32', id] as const]],
      ),
    ),
    'tokenizer.ggml.add_bos_token': ['bool', addsBos],
  }
}

/** Since transformers 4.50 a separate file; before, a field with one template or several named ones. */
const chatTemplate = async (folder: string, settings: Json): Promise<string | null> => {
  const file = await readFile(join(folder, 'chat_template.jinja'), 'utf8').catch(() => null)
  if (file !== null) return file
  const template: unknown = settings.chat_template
  if (typeof template === 'string') return template
  const named = (Array.isArray(template) ? template : []).filter(isJson)
  const chosen = named.find(({ name }) => name === 'default')?.template
  return typeof chosen === 'string' ? chosen : null
}
