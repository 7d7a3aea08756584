import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { detectFormat, titleOf } from '../../../tensors/detect.ts'
import { readWeights } from '../../../tensors/read-weights.ts'
import type { ByteSource, Tensor } from '../../../tensors/weight-file.ts'

export type Json = Readonly<Record<string, unknown>>

/** A tensor and its file. */
export interface FileTensor extends Tensor {
  readonly path: string
}

/** A tokenizer with 256,000 tokens takes 35 MB. */
const MAX_JSON = 1 << 27

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads a JSON object of the folder; null if there is no such file. Throws bad_request naming the file. */
export const readJson = async (folder: string, name: string): Promise<Json | null> => {
  const path = join(folder, name)
  const size = await stat(path).then(
    (status) => (status.isFile() ? status.size : null),
    () => null,
  )
  if (size === null) return null
  if (size > MAX_JSON) throw badRequest(`'${path}' has ${size} bytes; at most ${MAX_JSON} are read.`)
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new ServiceError('bad_request', `'${path}' is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  if (!isJson(value)) throw badRequest(`'${path}' is not a JSON object.`)
  return value
}

export const needJson = async (folder: string, name: string): Promise<Json> => {
  const value = await readJson(folder, name)
  if (value !== null) return value
  throw badRequest(`There is no ${name} in '${folder}'. Use a folder downloaded from Hugging Face, with all its files.`)
}

/** Locates the tensors of one safetensors file. Throws bad_request naming the file. */
export const readTensors = (path: string): readonly FileTensor[] => {
  const file = openSync(path, 'r')
  try {
    const source: ByteSource = {
      size: fstatSync(file).size,
      read: (offset, length) => {
        const bytes = new Uint8Array(length)
        const read = readSync(file, bytes, 0, length, offset)
        if (read !== length) throw badRequest(`'${path}' ends at byte ${offset + read}. Fetch it again.`)
        return bytes
      },
    }
    const format = detectFormat(source)
    if (format !== 'safetensors')
      throw badRequest(
        `It is not a safetensors file but ${titleOf(format)}. ` +
          'Only Hugging Face folders and LoRA adapters are converted to gguf.',
      )
    const { tensors } = readWeights(source)
    return tensors.map((tensor) => ({ ...tensor, path }))
  } catch (error) {
    if (error instanceof ServiceError) throw badRequest(`'${path}': ${error.message}`)
    throw error
  } finally {
    closeSync(file)
  }
}

/** The tensors of a model folder by name, from `model.safetensors` or the parts that its index lists. */
export const readFolderTensors = async (folder: string): Promise<ReadonlyMap<string, FileTensor>> => {
  const names = await partNames(folder)
  const found = new Map<string, FileTensor>()
  for (const name of names)
    for (const tensor of readTensors(join(folder, name))) {
      if (found.has(tensor.name)) throw badRequest(`Tensor '${tensor.name}' is in two files of '${folder}'.`)
      found.set(tensor.name, tensor)
    }
  return found
}

const partNames = async (folder: string): Promise<readonly string[]> => {
  const files = new Set(await readdir(folder))
  const index = await readJson(folder, 'model.safetensors.index.json')
  if (index !== null) {
    const parts = [...new Set(Object.values(isJson(index.weight_map) ? index.weight_map : {}).map(String))]
    const missing = parts.find((part) => part !== basename(part) || !files.has(part))
    if (missing !== undefined)
      throw badRequest(`The index of '${folder}' names '${missing}', which is not in the folder.`)
    if (parts.length > 0) return parts
  }
  if (files.has('model.safetensors')) return ['model.safetensors']
  throw badRequest(
    `There is no model.safetensors in '${folder}'. Weights in other files, such as pytorch_model.bin, are not read: ` +
      'save the model as safetensors (save_pretrained does).',
  )
}
