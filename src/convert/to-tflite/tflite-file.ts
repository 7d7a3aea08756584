import { badRequest } from '../../domain/errors.ts'
import { readFlatbuffer, writeFlatbuffer } from '../flatbuffers/table.ts'
import { TFLITE, type TfliteModel } from './schema.ts'

const startsWith = (bytes: Uint8Array, text: string, at: number): boolean =>
  [...text].every((letter, index) => bytes[at + index] === letter.charCodeAt(0))

/** True for a .tflite file (a .litert file is the same). */
export const isTflite = (bytes: Uint8Array): boolean => startsWith(bytes, 'TFL3', 4)

/** True for a .litertlm bundle: several models and a tokenizer for LiteRT-LM. */
export const isLitertBundle = (bytes: Uint8Array): boolean => startsWith(bytes, 'LITERTLM', 0)

/** Reads the model of a .tflite file; bytes are views of it. Throws bad_request saying what is wrong. */
export const readTflite = (bytes: Uint8Array): TfliteModel => {
  if (isLitertBundle(bytes)) {
    throw badRequest(
      'A .litertlm bundle contains several models and is made for LiteRT-LM; take the .tflite file out of it first.',
    )
  }
  if (!isTflite(bytes)) throw badRequest("Not a TFLite model: 'TFL3' is expected at the 5th byte.")
  const model: TfliteModel = readFlatbuffer(TFLITE, 'Model', bytes)
  if (model.version !== 3)
    throw badRequest(`TFLite schema version ${model.version ?? 0} is not supported; it must be 3.`)
  if (model.buffers?.some(({ offset }) => (offset ?? 0) > 1)) {
    throw badRequest('A TFLite model whose weights are stored after it (over 2 GB) is not supported.')
  }
  return model
}

export const writeTflite = (model: TfliteModel): Uint8Array => {
  const weights = (model.buffers ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0) + 64, 0)
  const tensors = (model.subgraphs ?? []).reduce((sum, graph) => sum + (graph.tensors?.length ?? 0), 0)
  return writeFlatbuffer(TFLITE, 'Model', 'TFL3', model as Record<string, unknown>, weights + 512 * tensors + 4096)
}
