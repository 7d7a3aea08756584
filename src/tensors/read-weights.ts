import { badRequest, ServiceError } from '../domain/errors.ts'
import { adviceFor, detectFormat, formatOf, isWeightFormat, READABLE, titleOf } from './detect.ts'
import type { DetectedFormat, WeightFile } from './formats.ts'
import { DEFAULT_LIMITS, type ReadLimits } from './limits.ts'
import { requireSoundTensors } from './shape.ts'
import type { ByteSource } from './weight-file.ts'

export interface ReadOptions {
  /** Content that is not recognized is a bare little-endian float32 vector. */
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

/** Failures of the disk or of our own memory are not the file's fault. */
const isOurs = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** Whatever else goes wrong while a file is read is the file's fault. */
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
 * Reads where every tensor of a weight file lies, without loading its elements and without running anything in it.
 * The container is told by content. With `rawVector`, what is no readable container is a float32 vector, if its length
 * fits. Throws bad_request, naming the tensor or the byte and the reason, for whatever is wrong with the file.
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
 * Why content cannot be aggregated though it may be kept as it is; null: its tensors can be read, or else it is damaged,
 * which reading says.
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
 * Looks as far into content that cannot be aggregated as its own lengths go, so that a file that was cut or that lies is
 * not kept: pickles (which must not name what no model needs either) and zip archives. Throws bad_request.
 */
export const requireSound = (source: ByteSource, format: DetectedFormat): void => {
  blaming(format, () => formatOf(format).check?.(source))
}
