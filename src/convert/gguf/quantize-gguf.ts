import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { badRequest } from '../../domain/errors.ts'
import { type GgufContainer, readContainer } from '../../inference/models/gguf/container.ts'
import { HeaderReader } from '../../inference/models/gguf/header-reader.ts'
import { isSourceType } from './block-kernel.ts'
import { metadataBytes } from './metadata-bytes.ts'
import {
  FILE_KINDS,
  type FileKind,
  inOrder,
  isFileKind,
  isQuantizable,
  type MixModel,
  typesOf,
} from './quantization-mix.ts'
import { type PlannedTensor, type WriteOptions, writeGguf } from './write-gguf.ts'

/** A method of `svc quantize` or the exact kind of file. */
export type GgufMethod = 'auto' | 'int8' | 'int4' | 'dynamic' | 'float16' | FileKind

export interface GgufQuantization {
  readonly kind: FileKind
  readonly parameters: number
  readonly sourceBytes: number
  readonly bytes: number
  /** The number of tensors of each type in the file. */
  readonly tensors: Readonly<Record<string, number>>
}

/** llama.cpp's current version (ggml.h, GGML_QNT_VERSION). */
const QUANTIZATION_VERSION = 2
/** Keys that are rewritten or that do not apply to a single whole file. */
const REPLACED: ReadonlySet<string> = new Set([
  ...['general.quantization_version', 'general.file_type'],
  ...['split.no', 'split.count', 'split.tensors.count'],
])

/**
 * Writes the GGUF model in `source` with smaller weights to `target`, which appears once it is complete. `int4` and `auto`
 * are Q4_K_M, or Q4_0 if rows are not a multiple of 256 long; `int8` and `dynamic` are Q8_0; `float16` is F16. The file is
 * byte for byte the one that llama-quantize writes on x86-64. Weights may be F32, F16, BF16, or Q8_0. Throws InferenceError
 * invalid_model for a damaged file, bad_request for one that cannot be quantized.
 */
export const quantizeGguf = async (
  source: string,
  target: string,
  method: GgufMethod,
  options: WriteOptions = {},
): Promise<GgufQuantization> => {
  const file = openModel(source)
  try {
    const sourceBytes = fstatSync(file).size
    const container = readContainer(new HeaderReader(source, file, sourceBytes))
    const tensors = inOrder(container.tensors)
    const kind = kindOf(method, tensors)
    const model = modelOf(source, container)
    const planned = planOf(source, container, typesOf(kind, model, tensors), tensors)
    if (await isSame(source, target))
      throw badRequest(`The result would replace its source '${source}'. Choose another file.`)
    const bytes = await writeGguf(target, entriesOf(file, container, kind), planned, container.alignment, options)
    const counts: Record<string, number> = {}
    for (const { type } of planned) counts[type] = (counts[type] ?? 0) + 1
    const parameters = tensors.reduce((sum, { elements }) => sum + elements, 0)
    return { kind, parameters, sourceBytes, bytes, tensors: counts }
  } finally {
    closeSync(file)
  }
}

const openModel = (path: string): number => {
  try {
    const file = openSync(path, 'r')
    if (fstatSync(file).isFile()) return file
    closeSync(file)
  } catch (cause) {
    throw badRequest(`The model file '${path}' cannot be opened (${(cause as NodeJS.ErrnoException).code}).`)
  }
  throw badRequest(`'${path}' is not a file.`)
}

const isSame = async (source: string, target: string): Promise<boolean> =>
  (await realpath(source)) === (await realpath(target).catch(() => target))

const METHODS: Readonly<Record<string, FileKind>> = { int8: 'q8_0', dynamic: 'q8_0', float16: 'f16' }

const kindOf = (method: GgufMethod, tensors: GgufContainer['tensors']): FileKind => {
  if (isFileKind(method)) return method
  const kind = METHODS[method]
  if (kind !== undefined) return kind
  if (method === 'int4' || method === 'auto')
    return tensors.every((tensor) => !isQuantizable(tensor) || tensor.shape[0]! % 256 === 0) ? 'q4_k_m' : 'q4_0'
  const known = ['auto', 'int8', 'int4', 'dynamic', 'float16', ...Object.keys(FILE_KINDS)]
  throw badRequest(`There is no method '${method}' for GGUF files. Use one of ${known.join(', ')}.`)
}

const modelOf = (source: string, { metadata }: GgufContainer): MixModel => {
  const architecture = metadata.get('general.architecture')?.value
  if (typeof architecture !== 'string' || metadata.get('general.type')?.value === 'adapter')
    throw badRequest(
      `'${source}' is not a model but a vocabulary or an adapter. Quantize the model that it belongs to.`,
    )
  if (Number(metadata.get('split.count')?.value ?? 1) > 1)
    throw badRequest(`'${source}' is one part of a split model. Merge its parts first (llama-gguf-split --merge).`)
  const count = (key: string): number => Number(metadata.get(`${architecture}.${key}`)?.value ?? 0)
  const [heads, shared] = [count('attention.head_count'), count('attention.head_count_kv')]
  return {
    architecture,
    blocks: count('block_count'),
    experts: count('expert_count'),
    sharesValues: shared > 0 && heads !== shared,
  }
}

const planOf = (
  source: string,
  { dataStart }: GgufContainer,
  types: readonly string[],
  tensors: GgufContainer['tensors'],
): readonly PlannedTensor[] =>
  tensors.map(({ name, shape, type: sourceType, offset }, index) => {
    const type = types[index]!
    if (type !== sourceType && !isSourceType(sourceType))
      throw badRequest(
        `Tensor '${name}' of '${source}' is ${sourceType} already. Quantize a file with F32, F16, BF16, or Q8_0 weights instead.`,
      )
    return { name, shape, source, sourceOffset: dataStart + offset, sourceType, type }
  })

/** The source's entries unchanged, followed by the rewritten ones, as in llama-quantize. */
const entriesOf = (file: number, { metadata }: GgufContainer, kind: FileKind): Buffer[] => {
  const kept = [...metadata.values()].filter(({ key }) => !REPLACED.has(key))
  return [
    ...kept.map(({ start, end }) => {
      const bytes = Buffer.alloc(end - start)
      readSync(file, bytes, 0, bytes.length, start)
      return bytes
    }),
    metadataBytes('general.quantization_version', ['u32', QUANTIZATION_VERSION]),
    metadataBytes('general.file_type', ['u32', FILE_KINDS[kind].number]),
  ]
}
