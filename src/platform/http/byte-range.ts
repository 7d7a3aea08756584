/** First and last byte, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

const SINGLE = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i

/**
 * Parses a Range header (RFC 9110, section 14.2): 'whole' if it requests several ranges or is invalid, which a server may or
 * must ignore; 'unsatisfiable' if it is entirely outside the file.
 */
export const parseRange = (header: string, size: number): ByteRange | 'whole' | 'unsatisfiable' => {
  const match = SINGLE.exec(header)
  if (match === null) return 'whole'
  const [, first, last, suffix] = match
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'whole'
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
