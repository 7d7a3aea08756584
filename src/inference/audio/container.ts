/** The formats that are decoded without ffmpeg. */
export type OwnFormat = 'WAV' | 'MP3'

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1')

/** Skips an ID3 tag, which editors put before any kind of file. Its length is four bytes of seven bits each. */
const afterTags = (bytes: Uint8Array): Uint8Array => {
  if (text(bytes, 0, 3) !== 'ID3' || bytes.length < 10) return bytes
  const [a, b, c, d] = bytes.subarray(6, 10)
  return bytes.subarray(10 + ((a! << 21) | (b! << 14) | (c! << 7) | d!))
}

/** True for eleven set bits followed by a valid version, layer, bit rate, and sample rate. */
const isMpegFrame = ([first, second, third]: Uint8Array): boolean =>
  first === 0xff &&
  second! >= 0xe0 &&
  (second! & 0x18) !== 0x08 &&
  (second! & 0x06) !== 0 &&
  third! >> 4 !== 0xf &&
  (third! & 0x0c) !== 0x0c

/** Recognizes a format by its content, because file names are unreliable; null for formats that need ffmpeg. */
export const recognize = (bytes: Uint8Array): { readonly format: OwnFormat; readonly content: Uint8Array } | null => {
  if (text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 12) === 'WAVE') return { format: 'WAV', content: bytes }
  const content = afterTags(bytes)
  // FLAC, which only ffmpeg reads, can have a tag, too.
  if (text(content, 0, 4) === 'fLaC') return null
  return content !== bytes || isMpegFrame(content) ? { format: 'MP3', content: bytes } : null
}
