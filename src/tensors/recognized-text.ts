import { decodeLatin1 } from './sources.ts'

const LINE_BREAK = /\r\n|\r|\n/
const SEPARATORS = [',', ';', '\t'] as const
const NUMBER = /^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/
/** Control characters other than line ends, tabs, and form feeds indicate binary content. */
const isControl = (byte: number): boolean => (byte < 0x20 && (byte < 0x09 || byte > 0x0d)) || byte === 0x7f

/**
 * A few float32 values may look like letters by chance: 0.9 is `fff?`. Values between 1/128 and 8 end in one of `<=>?@`,
 * which text hardly ever has in every fourth position.
 */
const looksLikeFloats = (head: Uint8Array): boolean =>
  head.length % 4 === 0 && head.every((byte, at) => at % 4 !== 3 || (byte >= 0x3c && byte <= 0x40))

/**
 * Decodes a file's first bytes as text, or returns null. Accepts UTF-8, UTF-16 with a byte order mark, and ASCII with a few
 * letters of an older encoding. The last character may be cut off.
 */
export const textOf = (head: Uint8Array): string | null => {
  if (head.length === 0) return null
  const wide =
    head[0] === 0xff && head[1] === 0xfe ? 'utf-16le' : head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : null
  if (wide !== null) {
    const text = new TextDecoder(wide).decode(head.subarray(0, head.length - (head.length % 2)))
    const plain = [...text].filter((char) => char >= ' ' && char <= '~').length
    return text.length > 2 && plain >= text.length / 2 ? text : null
  }
  if (head.some(isControl) || looksLikeFloats(head)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
  } catch {
    const foreign = head.reduce((count, byte) => count + (byte > 0x7f ? 1 : 0), 0)
    return foreign * 7 <= head.length ? decodeLatin1(head) : null
  }
}

/** True if the text begins like a JSON object or array. */
export const looksLikeJson = (text: string): boolean =>
  /^\s*(\{\s*("|\}|$)|\[\s*(["{[\]\d-]|true|false|null|$))/.test(text)

/** True for rows with equal numbers of fields, or one row of numbers. The last row may be cut off. */
export const looksLikeCsv = (text: string): boolean => {
  const lines = text.split(LINE_BREAK).filter((line) => line.trim() !== '')
  const [first = '', ...rest] = lines
  return SEPARATORS.some((separator) => {
    const fields = first.split(separator)
    if (fields.length < 2) return false
    if (rest.length === 0) return fields.slice(0, -1).every((field) => NUMBER.test(field))
    const whole = rest.length === 1 ? rest : rest.slice(0, -1)
    return whole.every((line) => line.split(separator).length === fields.length)
  })
}
