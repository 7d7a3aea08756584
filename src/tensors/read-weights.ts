import { badRequest, ServiceError } from '../domain/errors.ts'
import { type DetectedFormat, detectFormat } from './detect.ts'
import { DEFAULT_LIMITS, type ReadLimits } from './limits.ts'
import { readNpy } from './npy.ts'
import { readNpz } from './npz.ts'
import { readRaw } from './raw.ts'
import { readSafetensors } from './safetensors.ts'
import { requireSoundTensors } from './shape.ts'
import { readTorchLegacy } from './torch-legacy.ts'
import { readTorchZip } from './torch-zip.ts'
import type { ByteSource, WeightFile } from './weight-file.ts'
import { readZip, startsLikeZip } from './zip.ts'

const TITLES: Readonly<Record<DetectedFormat, string>> = {
  safetensors: 'a safetensors file',
  'torch-zip': 'a PyTorch .pt file',
  'torch-legacy': 'a PyTorch .pt file of the old form',
  npz: 'a NumPy .npz file',
  npy: 'a NumPy .npy file',
  onnx: 'an ONNX model',
  hdf5: 'an HDF5 file',
  gguf: 'a GGUF file',
  pickle: 'a plain Python pickle',
}

const READABLE = 'Weights can be aggregated from .safetensors, .pt or .pth, .npz, .npy and raw little-endian float32.'

const parse = (source: ByteSource, format: DetectedFormat | null, limits: ReadLimits): WeightFile => {
  switch (format) {
    case 'safetensors':
      return readSafetensors(source)
    case 'torch-zip':
      return readTorchZip(source, readZip(source))
    case 'torch-legacy':
      return readTorchLegacy(source)
    case 'npz':
      return readNpz(source, readZip(source), limits)
    case 'npy':
      return { format, tensors: [readNpy(source)], members: [] }
    case null:
      if (startsLikeZip(source.read(0, Math.min(4, source.size))))
        throw badRequest(`The file is a zip archive, but neither a PyTorch file nor a .npz. ${READABLE}`)
      return readRaw(source)
    default:
      throw badRequest(`The file is ${TITLES[format]}, which cannot be aggregated; it was not opened. ${READABLE}`)
  }
}

/** Failures of the disk or of our own memory are not the file's fault. */
const isOurs = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/**
 * Reads where every tensor of a weight file lies, without loading its elements and without running anything in it.
 * The container is told by content. What is no known container is a raw float32 vector, if its length fits.
 * Throws bad_request, naming the tensor or the byte and the reason, for whatever is wrong with the file.
 */
export const readWeights = (source: ByteSource, limits: ReadLimits = DEFAULT_LIMITS): WeightFile => {
  let format: DetectedFormat | null = null
  try {
    format = detectFormat(source)
    const file = parse(source, format, limits)
    requireSoundTensors(file.tensors, source.size)
    return file
  } catch (error) {
    if (error instanceof ServiceError || isOurs(error)) throw error
    const title = format === null ? 'a weight file' : TITLES[format]
    throw new ServiceError(
      'bad_request',
      `The file looks like ${title}, but it is damaged. Send the whole file again.`,
      {
        cause: error,
      },
    )
  }
}
