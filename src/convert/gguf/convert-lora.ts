import { closeSync, fstatSync, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { badRequest } from '../../domain/errors.ts'
import { readContainer } from '../../inference/models/gguf/container.ts'
import { HeaderReader } from '../../inference/models/gguf/header-reader.ts'
import { elementCount } from '../../tensors/weight-file.ts'
import { type GgufConversion, plannedTensor } from './convert-hugging-face.ts'
import { readModelConfig } from './hugging-face/model-config.ts'
import { type FileTensor, isJson, type Json, needJson, readJson, readTensors } from './hugging-face/model-folder.ts'
import { expectedShapes, ggufName, headRowsOf } from './hugging-face/tensor-names.ts'
import { metadataBytes } from './metadata-bytes.ts'
import { type PlannedTensor, type WriteOptions, writeGguf } from './write-gguf.ts'

export interface LoraOptions extends WriteOptions {
  /** The base model of the adapter: a GGUF file or a Hugging Face folder. Default: the folder that the adapter names. */
  readonly base?: string
  /** `lora_alpha`, if there is no adapter_config.json with it. */
  readonly alpha?: number
}

/** The model that an adapter must match. */
interface BaseModel {
  readonly architecture: string
  readonly headSize: number
  /** A matrix's row length and number of rows, by llama.cpp's name. */
  readonly shapeOf: (name: string) => readonly number[] | undefined
}

const LORA = /^(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.default)?\.weight$/

/**
 * Writes a PEFT LoRA adapter (a folder with adapter_config.json and adapter_model.safetensors, or a safetensors file) as a
 * GGUF adapter, which llama.cpp applies to its base model. Throws bad_request naming what does not match the base model.
 */
export const convertLoraToGguf = async (
  adapter: string,
  target: string,
  options: LoraOptions = {},
): Promise<GgufConversion> => {
  const status = await stat(adapter).catch(() => null)
  if (status === null) throw badRequest(`There is no adapter at '${adapter}'.`)
  const folder = status.isDirectory() ? adapter : dirname(adapter)
  const tensors = readTensors(status.isDirectory() ? join(adapter, 'adapter_model.safetensors') : adapter)
  const config = await readJson(folder, 'adapter_config.json')
  if (config !== null) checkConfig(config)
  const base = await readBase(options.base ?? String(config?.base_model_name_or_path ?? ''))
  const { planned, rank } = planOf(tensors, base)
  const entries = [
    metadataBytes('general.type', ['string', 'adapter']),
    metadataBytes('general.architecture', ['string', base.architecture]),
    metadataBytes('adapter.type', ['string', 'lora']),
    metadataBytes('adapter.lora.alpha', ['f32', alphaOf(config, options, rank)]),
  ]
  const bytes = await writeGguf(target, entries, planned, 32, options)
  const parameters = planned.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return { architecture: base.architecture, parameters, bytes, tensors: { F32: planned.length } }
}

const checkConfig = (config: Json): void => {
  const wrong = (field: string) =>
    badRequest(
      `'${field}' in adapter_config.json is ${JSON.stringify(config[field])}, which GGUF adapters cannot express.`,
    )
  if (config.peft_type !== undefined && config.peft_type !== 'LORA') throw wrong('peft_type')
  for (const field of ['use_dora', 'fan_in_fan_out', 'lora_bias']) if (config[field] === true) throw wrong(field)
  for (const field of ['alpha_pattern', 'rank_pattern'])
    if (isJson(config[field]) && Object.keys(config[field]).length > 0) throw wrong(field)
  if (Array.isArray(config.modules_to_save) && config.modules_to_save.length > 0) throw wrong('modules_to_save')
}

/** llama.cpp scales by alpha / rank; rank-stabilized LoRA scales by alpha / sqrt(rank). */
const alphaOf = (config: Json | null, { alpha }: LoraOptions, rank: number): number => {
  const found = alpha ?? config?.lora_alpha
  if (typeof found !== 'number' || !Number.isFinite(found))
    throw badRequest(
      "The adapter's alpha is not known: there is no 'lora_alpha' in an adapter_config.json next to it. Add it there.",
    )
  return config?.use_rslora === true ? found * Math.sqrt(rank) : found
}

const readBase = async (path: string): Promise<BaseModel> => {
  if (path === '')
    throw badRequest(
      'The adapter does not name its base model. Give it with --base: a GGUF file or a Hugging Face folder.',
    )
  const status = await stat(path).catch(() => null)
  if (status === null)
    throw badRequest(
      `The base model '${path}' of the adapter is not here. Give its path with --base: a GGUF file or a Hugging Face folder.`,
    )
  if (status.isDirectory()) {
    const config = readModelConfig(await needJson(path, 'config.json'))
    const shapes = expectedShapes(config)
    return { ...config, shapeOf: (name) => shapes.get(name) }
  }
  const file = openSync(path, 'r')
  try {
    const { metadata, tensors } = readContainer(new HeaderReader(path, file, fstatSync(file).size))
    const architecture = String(metadata.get('general.architecture')?.value)
    const count = (key: string): number => Number(metadata.get(`${architecture}.${key}`)?.value)
    const shapes = new Map(tensors.map(({ name, shape }) => [name, shape]))
    const size = count('attention.key_length') || count('embedding_length') / count('attention.head_count')
    return { architecture, headSize: size, shapeOf: (name) => shapes.get(name) }
  } finally {
    closeSync(file)
  }
}

const planOf = (tensors: readonly FileTensor[], base: BaseModel): { planned: PlannedTensor[]; rank: number } => {
  const pairs = new Map<string, { A?: FileTensor; B?: FileTensor }>()
  for (const tensor of tensors) {
    const [, module, side] = LORA.exec(tensor.name) ?? []
    const name = module === undefined ? null : ggufName(`${module}.weight`)
    if (name === null)
      throw badRequest(
        `Tensor '${tensor.name}' cannot be part of a GGUF adapter: only lora_A and lora_B of the projections can.`,
      )
    pairs.set(name, { ...pairs.get(name), [side!]: tensor })
  }
  let rank = 0
  const planned = [...pairs].flatMap(([name, { A, B }]) => {
    const shape = base.shapeOf(name)
    if (A === undefined || B === undefined)
      throw badRequest(`The adapter has only one of lora_A and lora_B for '${name}'.`)
    if (shape === undefined) throw badRequest(`The adapter changes '${name}', which its base model does not have.`)
    rank = A.shape[0] ?? 0
    const fits = A.shape.length === 2 && B.shape.length === 2 && A.shape[1] === shape[0] && B.shape[0] === shape[1]
    if (!fits || B.shape[1] !== rank || rank === 0)
      throw badRequest(
        `The adapter adds ${B.shape.join(' x ')} times ${A.shape.join(' x ')} to '${name}', which has ${shape[1]} rows of ${shape[0]} in its base model.`,
      )
    return [
      plannedTensor(A, `${name}.lora_a`, 'F32', undefined),
      plannedTensor(B, `${name}.lora_b`, 'F32', headRowsOf(base.architecture, name, base.headSize)),
    ]
  })
  if (planned.length === 0) throw badRequest('The adapter has no tensors.')
  return { planned, rank }
}
