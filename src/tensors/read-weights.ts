import { badRequest, ServiceError } from '../domain/errors.ts'
import { adviceFor, detectFormat, formatOf, isWeightFormat, READABLE, titleOf } from './detect.ts'
import type { DetectedFormat, WeightFile } from './formats.ts'
import { DEFAULT_LIMITS, type ReadLimits } from './limits.ts'
import { requireSoundTensors } from './shape.ts'
import type { ByteSource } from './weight-file.ts'

export interface ReadOptions {
  /** Reads content of an unrecognized format as a bare little-endian float32 vector. */
  readonly rawVector?: boolean
  readonly limits?: ReadLimits
}

const parse = (source: ByteSource, found: DetectedFormat | null, options: ReadOptions): WeightFile => {
  const isRaw = options.rawVector === true || source.size === 0
  const format = isWeightFormat(found) || !isRaw ? found : 'raw'
  if (isWeightFormat(format)) return { format, ...formatOf(format).read!(source, options.limits ?? DEFAULT_LIMITS) }
  throw badRequest(
    format === null
      ? `The file is ${titleOf(null)}. ${READABLE}`
      : `The file is ${titleOf(format)}, which cannot be aggregated; it was not opened. ${adviceFor(format)}`,
  )
}

/** Disk errors are not the file's fault. */
const isOurs = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** Reports any other error while reading a file as damage to the file. */
const blaming = <T>(format: DetectedFormat | null, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof ServiceError || isOurs(error)) throw error
    const title = format === null ? 'a weight file' : formatOf(format).title
    throw new ServiceError(
      'bad_request',
      `The file looks like ${title}, but it is damaged. Send the whole file again.`,
      { cause: error },
    )
  }
}

/**
 * Locates every tensor of a weight file without loading its elements or executing anything in it. Detects the format from
 * the content. With `rawVector`, a file that is not a readable container is a float32 vector if its length fits. Throws
 * bad_request, naming the tensor or byte and the reason, for any defect in the file.
 */
export const readWeights = (source: ByteSource, options: ReadOptions = {}): WeightFile => {
  const format = detectFormat(source)
  return blaming(format, () => {
    const file = parse(source, format, options)
    requireSoundTensors(file.tensors, source.size, file.constants)
    return file
  })
}

/**
 * Explains why content cannot be aggregated although it may be stored unchanged; null if it can be, or if it is damaged,
 * which reading reports.
 */
export const whyOpaque = (source: ByteSource, format: DetectedFormat | null): string | null => {
  if (!isWeightFormat(format)) return adviceFor(format)
  if (!formatOf(format).mayBeOpaque) return null
  try {
    readWeights(source)
    return null
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request') return error.message
    throw error
  }
}

/**
 * Checks content that cannot be aggregated as far as its own lengths lead, so that truncated or invalid files are not
 * stored: zip archives, and pickles, which must also name only what models need. Throws bad_request.
 */
export const requireSound = (source: ByteSource, format: DetectedFormat): void => {
  blaming(format, () => formatOf(format).check?.(source))
}
