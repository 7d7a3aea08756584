import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { detectFormat, isWeightFormat, titleOf } from '../../tensors/detect.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import { type ByteSource, byteLength, elementCount } from '../../tensors/weight-file.ts'
import { sourceFormatOf } from '../formats.ts'
import { isTflite } from '../to-tflite/tflite-file.ts'
import { ggufProfile } from './gguf-profile.ts'
import type { ModelProfile } from './model-profile.ts'
import { onnxProfile } from './onnx-profile.ts'
import { tfliteProfile } from './tflite-profile.ts'

/** Models with a graph are read into memory. */
const MAX_GRAPH_BYTES = 2 ** 31

const CORE_ML = /\.ml(?:model|package)$/i

/**
 * Determines from a model's file what is needed to run it, without running anything. `inputShape` is the shape of the first
 * input. Throws bad_request or InferenceError naming what is wrong with the file.
 */
export const inspectModel = async (path: string, inputShape?: readonly number[]): Promise<ModelProfile> => {
  const file = openSync(path, 'r')
  try {
    const size = fstatSync(file).size
    const source: ByteSource = {
      size,
      read: (offset, length) => {
        const bytes = new Uint8Array(length)
        for (let filled = 0; filled < length; ) {
          const read = readSync(file, bytes, filled, length - filled, offset + filled)
          if (read === 0) throw badRequest(`'${path}' became shorter while it was read.`)
          filled += read
        }
        return bytes
      },
    }
    const head = source.read(0, Math.min(size, 8))
    if (Buffer.from(head.subarray(0, 4)).toString('latin1') === 'GGUF') return await ggufProfile(path)
    return inspect(source, path, isTflite(head), inputShape)
  } finally {
    closeSync(file)
  }
}

const inspect = (
  source: ByteSource,
  path: string,
  isLite: boolean,
  inputShape: readonly number[] | undefined,
): ModelProfile => {
  const detected = detectFormat(source)
  const from = sourceFormatOf(source, path)
  if ((isLite || from !== null) && source.size > MAX_GRAPH_BYTES)
    throw badRequest(`'${path}' has ${source.size} bytes; models of up to ${MAX_GRAPH_BYTES} bytes can be checked.`)
  if (isLite) return tfliteProfile(source.read(0, source.size))
  if (from !== null) {
    const { model, notes } = toOnnx(() => from.toOnnx(source, inputShape === undefined ? {} : { inputShape }), path)
    const how = from.name === 'onnx' ? [] : ['The operators are those of the ONNX model that svc convert produces.']
    return onnxProfile(from.title, model, inputShape, [...notes, ...how])
  }
  if (source.size === 0) throw badRequest(`'${path}' is empty.`)
  if (detected === null && CORE_ML.test(path))
    throw badRequest(
      `'${path}' is a Core ML model, which cannot be checked. Check the model that it was converted from.`,
    )
  if (!isWeightFormat(detected))
    throw badRequest(
      `'${path}' is ${titleOf(detected)}, which cannot be checked. GGUF, ONNX, TensorFlow Lite, and weight files can be.`,
    )
  const { tensors } = readWeights(source)
  return {
    title: titleOf(detected),
    parameters: tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0),
    weightBytes: tensors.reduce((sum, tensor) => sum + byteLength(tensor), 0),
    operators: null,
    activationBytes: null,
    multiplications: null,
    languageModel: null,
    runtimes: [],
    notes: ['The file contains only weights, which no runtime runs: the verdict covers only their memory.'],
  }
}

const toOnnx = <Result>(convert: () => Result, path: string): Result => {
  try {
    return convert()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw badRequest(`'${path}' is damaged, or has something that is not supported (${(error as Error).message}).`)
  }
}
