import type { FormatDescriptor } from './format-descriptor.ts'
import { type DetectedFormat, FORMATS, type FormatName, type WeightFormat } from './formats.ts'
import { textOf } from './recognized-text.ts'
import { copyOf, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'
import { startsLikeZip } from './zip.ts'
import { readMemberNames } from './zip-directory.ts'

const descriptors: Readonly<Record<FormatName, FormatDescriptor>> = FORMATS

/** In the order of the checks. */
const DETECTED_FORMATS = Object.keys(FORMATS).filter((name) => name !== 'raw') as readonly DetectedFormat[]

export const formatOf = (name: FormatName): FormatDescriptor => descriptors[name]

/** True if the format's tensors can be read and therefore aggregated. */
export const isWeightFormat = (name: FormatName | null): name is WeightFormat =>
  name !== null && descriptors[name].read !== undefined

const CHANCE_BYTES = 64

/**
 * True if content declared as a float32 vector may be one although another format was recognized: up to 64 bytes of floats
 * may look like text by chance.
 */
export const mayBeDeclaredVector = (format: DetectedFormat | null, size: number): boolean =>
  format === null || (formatOf(format).isText === true && size <= CHANCE_BYTES)

const readableExtensions = DETECTED_FORMATS.filter(isWeightFormat).flatMap((name) => formatOf(name).extensions)

/** The extensions of formats that can be aggregated, for messages: '.pt, .pth, .npz, ...'. */
export const READABLE_EXTENSIONS = [...new Set(readableExtensions)].map((extension) => `.${extension}`).join(', ')

export const READABLE = `Weights can be aggregated from ${READABLE_EXTENSIONS} and raw little-endian float32 (.f32).`

/** Describes the content in messages: 'CSV text', or that the format is unknown. */
export const titleOf = (name: FormatName | null): string =>
  name === null ? 'unknown binary content' : formatOf(name).title

/** Says what to send instead of content that cannot be aggregated. */
export const adviceFor = (name: FormatName | null): string => {
  const instead = name === null ? undefined : formatOf(name).instead
  return instead === undefined ? READABLE : `${instead} ${READABLE}`
}

const HEAD = 4096

const firstMemberName = (head: Uint8Array): string => {
  if (head.length < 30 || head[3] !== 4) return ''
  return new TextDecoder().decode(head.subarray(30, 30 + viewOf(head).getUint16(26, true)))
}

const memberNames = (source: ByteSource, head: Uint8Array): readonly string[] => {
  try {
    return readMemberNames(source)
  } catch {
    // A truncated archive has lost its directory, but its first member still identifies it.
    return [firstMemberName(head)]
  }
}

/**
 * Detects a file's format from its content alone; null if unknown (perhaps a raw vector). Reads the first 4 KB, and the
 * directory of a zip archive. Never throws because of the content.
 */
export const detectFormat = (source: ByteSource): DetectedFormat | null => {
  const head = copyOf(source.read(0, Math.min(HEAD, source.size)))
  const members = startsLikeZip(head) ? memberNames(source, head) : null
  let text: string | null | undefined
  const sample = {
    head,
    size: source.size,
    members,
    // Lazy: only text formats need it.
    get text() {
      if (text === undefined) text = textOf(head)
      return text
    },
  }
  return DETECTED_FORMATS.find((name) => formatOf(name).sniff(sample)) ?? null
}
