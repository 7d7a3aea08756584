import { rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { badRequest } from '../../domain/errors.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { elementCount } from '../../tensors/weight-file.ts'
import { configMetadata, type ModelConfig, readModelConfig, ropeFactors } from './hugging-face/model-config.ts'
import { type FileTensor, needJson, readFolderTensors } from './hugging-face/model-folder.ts'
import { expectedShapes, ggufName, headRowsOf } from './hugging-face/tensor-names.ts'
import { tokenizerMetadata } from './hugging-face/tokenizer.ts'
import { type MetadataValue, metadataBytes } from './metadata-bytes.ts'
import { isQuantizable } from './quantization-mix.ts'
import { type PlannedTensor, type WriteOptions, writeGguf } from './write-gguf.ts'

/** The types of matrices, with their numbers in `general.file_type`. */
const FILE_TYPES = { f32: 0, f16: 1, q8_0: 7 } as const

export interface GgufConversionOptions extends WriteOptions {
  /** The type of matrices; norms and biases stay F32. Default: f16. */
  readonly type?: keyof typeof FILE_TYPES
}

export interface GgufConversion {
  readonly architecture: string
  readonly parameters: number
  readonly bytes: number
  /** The number of tensors of each type in the file. */
  readonly tensors: Readonly<Record<string, number>>
}

const ALIGNMENT = 32

/**
 * Writes the model of a Hugging Face folder (config.json, tokenizer.json, safetensors, chat template; Llama, Mistral, Qwen
 * 2, and Qwen 3) as a GGUF file for llama.cpp. `target` appears once it is complete. Memory use does not depend on the model
 * size. Throws bad_request naming the file, field, or tensor that cannot be converted.
 */
export const convertHuggingFaceToGguf = async (
  folder: string,
  target: string,
  options: GgufConversionOptions = {},
): Promise<GgufConversion> => {
  const type = options.type ?? 'f16'
  if (!Object.hasOwn(FILE_TYPES, type))
    throw badRequest(`There is no type '${type}'. Use one of ${Object.keys(FILE_TYPES).join(', ')}.`)
  if (!(await stat(folder).catch(() => null))?.isDirectory()) throw badRequest(`'${folder}' is not a folder.`)
  const json = await needJson(folder, 'config.json')
  const config = readModelConfig(json)
  const planned = planOf(config, await readFolderTensors(folder), type)
  const metadata: Readonly<Record<string, MetadataValue>> = {
    'general.architecture': ['string', config.architecture],
    'general.type': ['string', 'model'],
    'general.name': ['string', basename(resolve(folder))],
    ...configMetadata(config),
    'general.file_type': ['u32', FILE_TYPES[type]],
    'general.quantization_version': ['u32', 2],
    ...(await tokenizerMetadata(folder, config.vocabulary, json)),
  }
  const entries = Object.entries(metadata).map(([key, value]) => metadataBytes(key, value))
  const bytes = await withRopeFactors(config, target, (factors) =>
    writeGguf(target, entries, [...factors, ...planned], ALIGNMENT, options),
  )
  const counts: Record<string, number> = {}
  for (const tensor of planned) counts[tensor.type] = (counts[tensor.type] ?? 0) + 1
  const parameters = planned.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return { architecture: config.architecture, parameters, bytes, tensors: counts }
}

const SOURCE_TYPES: Readonly<Record<string, string>> = { f32: 'F32', f16: 'F16', bf16: 'BF16' }

/** Plans how to write a tensor of transformers: types, and rows in llama.cpp's order. Throws bad_request for other elements. */
export const plannedTensor = (
  { name: from, dtype, shape, path, byteOffset }: FileTensor,
  name: string,
  type: string,
  headRows: number | undefined,
): PlannedTensor => {
  const sourceType = SOURCE_TYPES[dtype]
  if (sourceType === undefined)
    throw badRequest(`Tensor '${from}' has elements of type ${dtype}; f32, f16, and bf16 are converted.`)
  return {
    name,
    shape: [...shape].reverse(),
    source: path,
    sourceOffset: byteOffset,
    sourceType,
    type,
    ...(headRows !== undefined && { headRows }),
  }
}

const planOf = (
  config: ModelConfig,
  tensors: ReadonlyMap<string, FileTensor>,
  type: keyof typeof FILE_TYPES,
): readonly PlannedTensor[] => {
  const expected = expectedShapes(config)
  const planned = [...tensors.values()].flatMap((tensor) => {
    if (tensor.name.endsWith('.rotary_emb.inv_freq') || (config.tied && tensor.name === 'lm_head.weight')) return []
    const name = ggufName(tensor.name)
    const shape = [...tensor.shape].reverse()
    const wanted = name === null ? undefined : (expected.get(name) ?? biasShape(name, expected))
    if (name === null || wanted === undefined)
      throw badRequest(`Tensor '${tensor.name}' does not belong to a model of the type ${config.architecture}.`)
    if (shape.join() !== wanted.join())
      throw badRequest(
        `Tensor '${tensor.name}' has the shape ${tensor.shape.join(' x ')}; config.json asks for ${[...wanted].reverse().join(' x ')}.`,
      )
    const isMatrix = isQuantizable({ name, shape })
    const matrixType = type === 'q8_0' && shape[0]! % 32 !== 0 ? 'F16' : type.toUpperCase()
    const headRows = headRowsOf(config.architecture, name, config.headSize)
    return [plannedTensor(tensor, name, isMatrix ? matrixType : 'F32', headRows)]
  })
  const found = new Set(planned.map(({ name }) => name))
  const missing = [...expected.keys()].find((name) => !found.has(name))
  if (missing !== undefined)
    throw badRequest(`The model lacks the tensor that llama.cpp calls '${missing}'. Fetch all its files.`)
  return planned
}

/** The shape of a bias that a model may have (attention_bias). */
const biasShape = (name: string, expected: ReadonlyMap<string, readonly number[]>): readonly number[] | undefined =>
  /\.attn_(q|k|v|output)\.bias$/.test(name) ? expected.get(name.replace(/bias$/, 'weight'))?.slice(1) : undefined

/** The factors of Llama 3.1 are in none of the model's files, so they are written to a temporary file next to the target. */
const withRopeFactors = async <Result>(
  config: ModelConfig,
  target: string,
  write: (tensors: readonly PlannedTensor[]) => Promise<Result>,
): Promise<Result> => {
  const factors = ropeFactors(config)
  if (factors === null) return write([])
  await makeFolder(dirname(target))
  const source = join(dirname(target), `.${basename(target)}.${process.pid}.rope`)
  try {
    await writeFile(source, new Uint8Array(factors.buffer))
    const shape = [factors.length]
    return await write([{ name: 'rope_freqs.weight', shape, source, sourceOffset: 0, sourceType: 'F32', type: 'F32' }])
  } finally {
    await rm(source, { force: true })
  }
}
