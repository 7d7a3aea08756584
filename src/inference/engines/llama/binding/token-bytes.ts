// Attributes of a token in llama.cpp (llama.h, enum llama_token_attr): unknown, control and user-defined words; single bytes.
const WORD = 1 | 8 | 16
const BYTE = 32

/**
 * How tokens of a kind of vocabulary ('tokenizer.ggml.model') become bytes, by their text and attributes, as llama.cpp's
 * token_to_piece does it for grammars; null for kinds that are not known here.
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

/** GPT-2's encoder.py: printable bytes stand for themselves, the others are the letters from U+0100 on, in order. */
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
