import { readGgufFileInfo } from 'node-llama-cpp'
import { InferenceError } from '../../../errors.ts'
import { type Addon, type AddonModel, loadAddon } from './addon.ts'

/** A loaded model: its words, and what its file says of it. */
export interface LlamaModel {
  readonly addon: Addon
  readonly handle: AddonModel
  readonly parameters: number
  readonly trainContextTokens: number
  /** Bytes of keys and values for one token of one sequence. */
  readonly cacheBytesPerToken: number
  /** Whether the state of a sequence is all in its keys and values, so that a part of it can be kept. */
  readonly plainCache: boolean
  readonly weightBytes: number
  readonly chatTemplate: string | null
  readonly bosToken: string
  readonly eosToken: string
  /** What the template may write and a user may not: words that become one token with a meaning of its own. */
  readonly controlWords: readonly string[]
  /** `special`: control words in the text become their tokens. No token is put before the text. */
  tokenize(text: string, special: boolean): Uint32Array
  /** Control tokens become nothing. */
  detokenize(tokens: readonly number[]): string
  endsGeneration(token: number): boolean
  /** The token that goes before every prompt; null where the model wants none. */
  readonly firstToken: number | null
}

// Types of a token in a GGUF file that have a meaning of their own.
const UNKNOWN = 2
const CONTROL = 3

const numberOf = (value: unknown): number => {
  if (Array.isArray(value)) return Math.max(0, ...value.map(numberOf))
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

const wordOf = (words: readonly unknown[], index: unknown): string => {
  const word = typeof index === 'number' || typeof index === 'bigint' ? words[Number(index)] : undefined
  return typeof word === 'string' ? word : ''
}

/** Keys and values in 16 bits each, for the heads that keep them. */
const bytesPerToken = (fields: Readonly<Record<string, unknown>>): number => {
  const attention = fieldsOf(fields['attention'])
  const heads = numberOf(attention['head_count'])
  const width = heads === 0 ? 0 : numberOf(fields['embedding_length']) / heads
  const keyValueHeads = numberOf(attention['head_count_kv']) || heads
  const key = numberOf(attention['key_length']) || width
  const value = numberOf(attention['value_length']) || width
  return numberOf(fields['block_count']) * keyValueHeads * (key + value) * 2
}

/** @throws InferenceError engine_missing, invalid_model */
export const loadModel = async (path: string, threads: number): Promise<LlamaModel> => {
  const addon = await loadAddon(threads)
  const { metadata } = await readGgufFileInfo(path, { readTensorInfo: false, logWarnings: false })
  const architecture = metadata.general.architecture
  const fields = fieldsOf(fieldsOf(metadata)[architecture])
  const tokenizer = fieldsOf(fieldsOf(metadata)['tokenizer'])
  const words = fieldsOf(tokenizer['ggml'])
  const texts = Array.isArray(words['tokens']) ? words['tokens'] : []
  const types = Array.isArray(words['token_type']) ? words['token_type'] : []

  const handle = new addon.AddonModel(path, {
    addonExports: addon,
    gpuLayers: process.platform === 'darwin' && process.arch === 'arm64' ? 999 : 0,
    useMmap: addon.getSupportsMmap(),
  })
  if (!(await handle.init())) throw new InferenceError('invalid_model', `llama.cpp could not load '${path}'.`)
  const memory = handle.getMemoryBreakdown()
  return {
    addon,
    handle,
    parameters: handle.getTotalParameters(),
    trainContextTokens: handle.getTrainContextSize(),
    cacheBytesPerToken: bytesPerToken(fields),
    plainCache:
      addon.getIsArchRecurrent(architecture) !== true &&
      addon.getIsArchHybrid(architecture) !== true &&
      numberOf(fieldsOf(fields['attention'])['sliding_window']) === 0,
    weightBytes: memory.cpuRam + memory.gpuVram,
    chatTemplate: typeof tokenizer['chat_template'] === 'string' ? tokenizer['chat_template'] : null,
    bosToken: wordOf(texts, words['bos_token_id']),
    eosToken: wordOf(texts, words['eos_token_id']),
    controlWords: texts.filter(
      (text, index): text is string =>
        typeof text === 'string' && text.length > 1 && [UNKNOWN, CONTROL].includes(numberOf(types[index])),
    ),
    tokenize: (text, special) => handle.tokenize(text, special),
    detokenize: (tokens) => handle.detokenize(Uint32Array.from(tokens), false),
    endsGeneration: (token) => handle.isEogToken(token),
    firstToken: handle.shouldPrependBosToken() ? handle.tokenBos() : null,
  }
}
