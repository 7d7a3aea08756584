import { InferenceError } from '../../../errors.ts'
import { checkAdapter } from '../../../models/gguf/adapter.ts'
import { type GgufHeader, readGgufHeader } from '../../../models/gguf/header.ts'
import type { Addon, AddonModel } from './addon.ts'
import { takeErrors } from './load-addon.ts'

// Attributes of a token in llama.cpp (llama.h, enum llama_token_attr): unknown, control and user-defined words; single bytes.
const SPECIAL = 1 | 8
const USER_DEFINED = 16
const WORD = SPECIAL | USER_DEFINED
const BYTE = 32

/**
 * Returns how tokens of a kind of vocabulary ('tokenizer.ggml.model') become bytes, by their text and attributes, like
 * llama.cpp's token_to_piece for grammars; null for unknown kinds.
 */
export const tokenBytesOf = (kind: string): ((text: string, attributes: number) => Uint8Array) | null => {
  if (kind === 'gpt2') {
    return (text, attributes) => ((attributes & WORD) === 0 ? ofLetters(text) : Buffer.from(text))
  }
  if (kind !== 'llama' && kind !== 't5') return null
  return (text, attributes) => {
    if ((attributes & WORD) !== 0) return Buffer.from(text)
    const byte = (attributes & BYTE) === 0 ? null : /^<0x([0-9A-F]{2})>$/.exec(text)
    return byte === null ? Buffer.from(text.replaceAll('\u2581', ' ')) : Uint8Array.of(Number.parseInt(byte[1]!, 16))
  }
}

/** As in GPT-2's encoder.py: printable bytes stand for themselves, the others for the letters from U+0100 on, in order. */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)

const BYTES: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => byte)
    .toSorted((one, other) => Number(isPrintable(one)) - Number(isPrintable(other)))
    .map((byte, index) => [String.fromCharCode(isPrintable(byte) ? byte : 0x100 + index), byte]),
)

const ofLetters = (text: string): Uint8Array =>
  Buffer.concat(
    [...text].map((letter) => {
      const byte = BYTES.get(letter)
      return byte === undefined ? Buffer.from(letter) : Uint8Array.of(byte)
    }),
  )

/** A loaded model: its vocabulary, and the properties in its file. */
export interface LlamaModel {
  readonly addon: Addon
  /** LoRA adapters that its contexts apply. */
  readonly loras: readonly object[]
  readonly handle: AddonModel
  readonly parameters: number
  readonly trainContextTokens: number
  /** The number of tokens. */
  readonly vocabulary: number
  /** Bytes of keys and values per token of one sequence. */
  readonly cacheBytesPerToken: number
  /** True if keys and values are a sequence's whole state, so that it can be saved. */
  readonly plainCache: boolean
  readonly weightBytes: number
  readonly chatTemplate: string | null
  readonly bosToken: string
  readonly eosToken: string
  /**
   * Words that become one token with a special meaning, which templates may write and users may not. Each access searches the
   * whole vocabulary.
   */
  readonly controlWords: readonly string[]
  /** With `special`, control words in the text become control tokens. Adds no token before the text. */
  tokenize(text: string, special: boolean): Uint32Array
  /** Omits control tokens, except with `special`. */
  detokenize(tokens: readonly number[], special?: boolean): string
  /** The bytes that a grammar sees of a token; null if this vocabulary does not define them. */
  readonly bytesOf: ((token: number) => Uint8Array) | null
  endsGeneration(token: number): boolean
  /** The token before every prompt; null if the model needs none. */
  readonly firstToken: number | null
  /** The tokens before the beginning of a text, before its end, and before what belongs in between; null if it has none. */
  readonly gapTokens: readonly [number, number, number] | null
}

const NO_TOKEN = 0xffffffff
const ALL_LAYERS = 999
/** llama.h: LLAMA_POOLING_TYPE_MEAN. */
const MEAN = 1

/** Searches the vocabulary for tokens with one of the attributes, except for single letters. */
const wordsOf = (handle: AddonModel, vocabulary: number, attributes: number): string[] => {
  const words: string[] = []
  for (let token = 0; token < vocabulary; token++) {
    if ((handle.getTokenAttributes(token) & attributes) !== 0) words.push(handle.getTokenString(token))
  }
  return words.filter((word) => word.length > 1)
}

const PIECE_CHARACTERS = 16 * 1024

/** Cuts a long text into pieces of at least that many characters, each before one of the words, where no token is split. */
export const cutBeforeWords = (text: string, words: readonly string[]): string[] => {
  const escaped = words
    .toSorted((one, other) => other.length - one.length)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pieces: string[] = []
  let start = 0
  for (const { index } of words.length === 0 ? [] : text.matchAll(new RegExp(escaped.join('|'), 'gu'))) {
    if (index - start < PIECE_CHARACTERS) continue
    pieces.push(text.slice(start, index))
    start = index
  }
  return [...pieces, text.slice(start)]
}

/**
 * Returns the model's tokenizer. llama.cpp first splits a text at special words, in a time that grows with the square of their
 * number: a chat of tens of thousands of messages would take many seconds in one piece.
 */
const tokenizerOf = (handle: AddonModel, vocabulary: number): LlamaModel['tokenize'] => {
  const words = new Map<boolean, readonly string[]>()
  return (text, special) => {
    if (text.length <= PIECE_CHARACTERS) return handle.tokenize(text, special)
    const known = words.get(special) ?? wordsOf(handle, vocabulary, special ? WORD : USER_DEFINED)
    words.set(special, known)
    return Uint32Array.from(cutBeforeWords(text, known).flatMap((piece) => [...handle.tokenize(piece, special)]))
  }
}

/**
 * Extracts the first error from llama.cpp's output, such as `llama_model_load: error loading model: missing tensor
 * 'output_norm.weight'`.
 */
const reasonIn = (words: string): string => {
  const reason = /error loading model(?: \w+)?: (.+)/.exec(words)?.[1] ?? words.split('\n', 1)[0]!
  return reason === '' ? '' : `: ${reason.trim().slice(0, 300)}`
}

/**
 * Without a pooling type, llama.cpp would return the vector of the last token. The mean is what sentence-transformers and the
 * ONNX engine use. An override is a key, a value, and 0 for an integer.
 */
const poolingOf = ({ embeds, architecture, metadata }: GgufHeader): readonly (readonly [string, number, number])[] => {
  const key = `${architecture}.pooling_type`
  return embeds && !metadata.get(key)?.value ? [[key, MEAN, 0]] : []
}

/** Loads the model with all layers on the graphics card, if there is one and they fit; otherwise with all on the CPU. */
const openModel = async (addon: Addon, path: string, header: GgufHeader): Promise<AddonModel> => {
  takeErrors()
  const layers = addon.getGpuType() ? [ALL_LAYERS, 0] : [0]
  for (const gpuLayers of layers) {
    const handle = new addon.AddonModel(path, {
      addonExports: addon,
      gpuLayers,
      useMmap: addon.getSupportsMmap(),
      overridesList: poolingOf(header),
    })
    if (await handle.init()) return handle
    await handle.dispose()
  }
  // llama.cpp's messages arrive later.
  await new Promise((resolve) => setTimeout(resolve, 20))
  throw new InferenceError('invalid_model', `llama.cpp could not load '${path}'${reasonIn(takeErrors())}.`)
}

const loadLora = async (addon: Addon, handle: AddonModel, path: string): Promise<object> => {
  takeErrors()
  const lora = new addon.AddonModelLora(handle, path)
  try {
    await handle.loadLora(lora)
    return lora
  } catch (cause) {
    const words = `llama.cpp could not load the LoRA adapter '${path}'${reasonIn(takeErrors())}.`
    throw new InferenceError('invalid_model', words, { cause })
  }
}

/** @param known the header, if it is already known. @throws InferenceError invalid_model */
export const loadModel = async (
  path: string,
  addon: Addon,
  { adapters = [], ...known }: { readonly header?: GgufHeader; readonly adapters?: readonly string[] } = {},
): Promise<LlamaModel> => {
  // llama.cpp aborts on some broken files instead of reporting an error.
  const header = known.header ?? (await readGgufHeader(path))
  for (const adapter of adapters) checkAdapter(adapter, header)
  const handle = await openModel(addon, path, header)
  const loras: object[] = []
  for (const adapter of adapters) loras.push(await loadLora(addon, handle, adapter))
  const memory = handle.getMemoryBreakdown()
  const bytesOf = tokenBytesOf(String(header.metadata.get('tokenizer.ggml.model')?.value))
  const gap = [handle.prefixToken(), handle.suffixToken(), handle.middleToken()] as const
  const word = (token: number): string => (token >= 0 && token < NO_TOKEN ? handle.getTokenString(token) : '')
  return {
    addon,
    loras,
    handle,
    parameters: handle.getTotalParameters(),
    trainContextTokens: header.contextTokens,
    vocabulary: header.vocabulary,
    // Two bytes per number.
    cacheBytesPerToken: header.keyValueHeads.reduce(
      (sum, heads) => sum + heads * (header.keyLength + header.valueLength) * 2,
      0,
    ),
    plainCache: !header.recurrent && !header.metadata.has(`${header.architecture}.attention.sliding_window`),
    weightBytes: memory.cpuRam + memory.gpuVram,
    chatTemplate: header.chatTemplate,
    bosToken: word(handle.tokenBos()),
    eosToken: word(handle.tokenEos()),
    get controlWords() {
      return wordsOf(handle, header.vocabulary, SPECIAL)
    },
    tokenize: tokenizerOf(handle, header.vocabulary),
    detokenize: (tokens, special = false) => handle.detokenize(Uint32Array.from(tokens), special),
    bytesOf: bytesOf && ((token) => bytesOf(handle.getTokenString(token), handle.getTokenAttributes(token))),
    endsGeneration: (token) => handle.isEogToken(token),
    firstToken: handle.shouldPrependBosToken() ? handle.tokenBos() : null,
    gapTokens: gap.every((token) => token >= 0 && token < header.vocabulary) ? gap : null,
  }
}
