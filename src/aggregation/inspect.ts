import { badRequest } from '../domain/errors.ts'
import { detectFormat, isWeightFormat, mayBeDeclaredVector, READABLE_EXTENSIONS, titleOf } from '../tensors/detect.ts'
import type { DetectedFormat } from '../tensors/formats.ts'
import { fullLayoutOf, type Layout, layoutOf, requireSameLayout } from '../tensors/layout.ts'
import { createPlausibility, readRaw } from '../tensors/raw.ts'
import { readWeights, requireSound, whyOpaque } from '../tensors/read-weights.ts'
import { showName } from '../tensors/shape.ts'
import { BYTES_OF, elementCount, isDirect, type Tensor } from '../tensors/weight-file.ts'
import { readTrees, type TreeLayout, treeLayoutOf, treesDiffer } from '../tensors/xgboost-trees.ts'
import type { Inspection, InspectionOptions, RawVectors } from './aggregation-messages.ts'
import { expandTensor } from './expand.ts'
import { type OpenFile, openFile, readFully, ScratchFile, withFile } from './files.ts'
import { createKernel, isFloat, type Kernel } from './kernel.ts'

const COLUMNS = 65_536

/**
 * Inspects an uploaded file before it is stored. With `expected`, it must be weights of that layout. Otherwise any readable
 * weight file is accepted, and content that is not weights is too, with layout null and a warning that names it. Throws
 * bad_request naming the first difference, the damage, or the tensor and element that is NaN or infinite.
 */
export const inspectFile = async (path: string, options: InspectionOptions): Promise<Inspection> => {
  const { expected, rawVectors } = options
  const file = openFile(path, 'r')
  try {
    const format = detectFormat(file)
    if (options.trees) {
      const treeLayout = treeLayoutOf(readTrees(file))
      requireSameTrees(treeLayout, options.expectedTrees)
      return { format, rawVector: false, layout: null, treeLayout, warning: null }
    }
    const isDeclared = rawVectors === 'declared'
    const advice = whyOpaque(file, format)
    if (advice !== null && !(expected !== null && isWeightFormat(format))) {
      if (!isDeclared)
        return expected === null ? inspectOpaque(file, format, rawVectors, advice) : refuse(format, expected)
      if (!mayBeDeclaredVector(format, file.size))
        throw badRequest(
          `A raw float32 vector was declared (raw_vector, or a file name ending in .f32), but the file is ${titleOf(format)}. ` +
            'Send little-endian float32 values and nothing else.',
        )
    }
    const weights = readWeights(file, { rawVector: isDeclared })
    if (expected !== null) requireSameLayout(expected, weights)
    await requireFinite(path, file, weights.tensors, options)
    return { format, rawVector: weights.format === 'raw', layout: fullLayoutOf(weights), warning: null }
  } finally {
    file.close()
  }
}

export const whyOpaqueFile = (path: string): string | null =>
  withFile(path, (file) => whyOpaque(file, detectFormat(file)))

const requireSameTrees = (update: TreeLayout, expected: TreeLayout | undefined): void => {
  const difference = expected === undefined ? null : treesDiffer(expected, update)
  if (difference !== null)
    throw badRequest(`The update cannot be combined with the round's model: ${difference}. Train the round's model.`)
}

const refuse = (format: DetectedFormat | null, expected: Layout): never => {
  throw badRequest(
    `The update is ${titleOf(format)}, but the round's model has ${expected.length} named tensors. ` +
      `Send them as ${READABLE_EXTENSIONS}.`,
  )
}

const inspectOpaque = (
  file: OpenFile,
  format: DetectedFormat | null,
  rawVectors: RawVectors,
  advice: string,
): Inspection => {
  if (format !== null) requireSound(file, format)
  const doubt = format === null && rawVectors === 'plausible' ? doubtAbout(file) : null
  if (format === null && rawVectors === 'plausible' && doubt === null) {
    const weights = readRaw(file)
    return {
      format,
      rawVector: true,
      layout: layoutOf(weights),
      warning:
        `The file was taken for a raw vector of ${file.size / 4} float32 values. To confirm, start the round or job with ` +
        'raw_vector: true, or end the file name in .f32.',
    }
  }
  const why = doubt === null ? '' : ` (${doubt})`
  return {
    format,
    rawVector: false,
    layout: null,
    advice,
    warning: `The file is ${titleOf(format)}${why}; it is kept, but never averaged with others. ${advice}`,
  }
}

/** Returns why unrecognized bytes are not plausible as a float32 vector, or null if they are. */
const doubtAbout = (file: OpenFile): string | null => {
  if (file.size === 0) return 'it is empty'
  if (file.size % 4 !== 0) return `its ${file.size} bytes are not a multiple of 4`
  const plausibility = createPlausibility()
  const chunk = new Float32Array(Math.min(COLUMNS, file.size / 4))
  for (let at = 0; at < file.size; at += chunk.byteLength) {
    const values = chunk.subarray(0, Math.min(chunk.length, (file.size - at) / 4))
    readFully(file.fd, new Uint8Array(values.buffer, 0, values.byteLength), at)
    plausibility.add(values)
  }
  return plausibility.doubt()
}

/** One per thread: a fresh WebAssembly memory costs more than reading a small file. */
let scanner: { readonly kernel: Kernel; readonly row: number } | undefined

const createScanner = () => {
  const kernel = createKernel()
  return { kernel, row: kernel.allocate(COLUMNS * 8) }
}

const requireFinite = async (
  path: string,
  file: OpenFile,
  tensors: readonly Tensor[],
  { isModel }: InspectionOptions,
): Promise<void> => {
  const advice = isModel
    ? 'Use a version of the model that has only finite values, or upload one.'
    : 'Training has diverged: lower the learning rate, or leave this update out.'
  const scanned = new Set<string>()
  for (const tensor of tensors) {
    // Checks tied tensors once.
    const place = `${tensor.byteOffset} ${tensor.deflated?.offset} ${tensor.dtype} ${tensor.shape} ${tensor.strides}`
    if (scanned.has(place)) continue
    scanned.add(place)
    if (isDirect(tensor)) scan(file, tensor, tensor.byteOffset, advice)
    else if (isFloat(tensor.dtype)) {
      const scratch = new ScratchFile(`${path}.expanded`)
      try {
        const offset = await expandTensor(path, file, tensor, scratch)
        scan(scratch.file, tensor, offset, advice)
      } finally {
        scratch.remove()
      }
    }
  }
}

const scan = (file: OpenFile, tensor: Tensor, offset: number, advice: string): void => {
  const { kernel, row } = (scanner ??= createScanner())
  const { dtype } = tensor
  if (!isFloat(dtype)) return
  const count = elementCount(tensor.shape)
  for (let start = 0; start < count; start += COLUMNS) {
    const length = Math.min(COLUMNS, count - start)
    readFully(file.fd, kernel.bytes(row, length * BYTES_OF[dtype]), offset + start * BYTES_OF[dtype])
    const index = kernel.firstNonFinite(dtype, row, length)
    if (index !== -1)
      throw badRequest(
        `Tensor ${showName(tensor.name)} contains NaN or infinity at element ${start + index}. ${advice}`,
      )
  }
}
