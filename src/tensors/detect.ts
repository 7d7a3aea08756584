import { DETECTED_FORMATS, formatOf } from './describe-format.ts'
import type { DetectedFormat } from './formats.ts'
import { textOf } from './recognized-text.ts'
import { copyOf, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'
import { readZip, startsLikeZip } from './zip.ts'

export type { DetectedFormat } from './formats.ts'

const HEAD = 4096

const firstMemberName = (head: Uint8Array): string => {
  if (head.length < 30 || head[3] !== 4) return ''
  return new TextDecoder().decode(head.subarray(30, 30 + viewOf(head).getUint16(26, true)))
}

const memberNames = (source: ByteSource, head: Uint8Array): readonly string[] => {
  try {
    return readZip(source).map(({ name }) => name)
  } catch {
    // A truncated archive has lost its directory; its first member still tells what it was.
    return [firstMemberName(head)]
  }
}

/**
 * Tells what a file holds by its content alone; null is content that we do not know (perhaps a raw vector). Reads the
 * first 4 KB, and of a zip archive the directory. Never throws for what the bytes are.
 */
export const detectFormat = (source: ByteSource): DetectedFormat | null => {
  const head = copyOf(source.read(0, Math.min(HEAD, source.size)))
  const members = startsLikeZip(head) ? memberNames(source, head) : null
  const sample = { head, size: source.size, members, text: textOf(head) }
  return DETECTED_FORMATS.find((name) => formatOf(name).sniff(sample)) ?? null
}
