/** What our own decoders read; null for everything else. */
export type OwnFormat = 'WAV' | 'MP3'

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1')

/** Tags that editors put before any kind of file; their length is in four bytes of seven bits. */
const afterTags = (bytes: Uint8Array): Uint8Array => {
  if (text(bytes, 0, 3) !== 'ID3' || bytes.length < 10) return bytes
  const [a, b, c, d] = bytes.subarray(6, 10)
  return bytes.subarray(10 + ((a! << 21) | (b! << 14) | (c! << 7) | d!))
}

/** Eleven set bits, then a version, a layer, a bit rate and a sample rate that exist. */
const isMpegFrame = ([first, second, third]: Uint8Array): boolean =>
  first === 0xff &&
  second! >= 0xe0 &&
  (second! & 0x18) !== 0x08 &&
  (second! & 0x06) !== 0 &&
  third! >> 4 !== 0xf &&
  (third! & 0x0c) !== 0x0c

/** Told by the content: names of files lie. What comes back begins where the format does. */
export const recognize = (bytes: Uint8Array): { readonly format: OwnFormat; readonly content: Uint8Array } | null => {
  if (text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 12) === 'WAVE') return { format: 'WAV', content: bytes }
  const content = afterTags(bytes)
  // Tags stand before FLAC, too, which only ffmpeg reads.
  if (text(content, 0, 4) === 'fLaC') return null
  return content !== bytes || isMpegFrame(content) ? { format: 'MP3', content: bytes } : null
}
