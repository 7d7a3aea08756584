// Replaces the weights of an exported program with those of a state dict.
import { badRequest } from '../../domain/errors.ts'
import { readTensorBytes, readTensorFloats } from '../../tensors/elements.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import type { ByteSource, DType, Tensor } from '../../tensors/weight-file.ts'
import type { OnnxTensor } from '../onnx/model.ts'
import { tensorOf } from '../onnx/tensors.ts'
import type { TorchArchive } from './read-archive.ts'

/** Returns the replacement of a weight, with floats in this type; undefined for inputs that are not in a state dict. */
export type ReplacedWeights = (path: string, type: DType) => OnnxTensor | undefined

const FLOATS: readonly DType[] = ['f32', 'f64', 'f16', 'bf16']

const read = (source: ByteSource, tensor: Tensor, type: DType): OnnxTensor => {
  const { dtype, shape } = tensor
  if (dtype === type || !FLOATS.includes(dtype) || !FLOATS.includes(type))
    return { type: dtype, shape, data: readTensorBytes(source, tensor) }
  return tensorOf(type, shape, readTensorFloats(source, tensor))
}

/** For each name of a tied weight (one tensor in the program), all of its names. */
const tiedNames = ({ program, storageOf }: TorchArchive): ReadonlyMap<string, readonly string[]> => {
  const groups = new Map<string, string[]>()
  for (const { path } of program.inputs) {
    const storage = path === '' ? undefined : storageOf(path)
    if (storage !== undefined) groups.set(storage, [...(groups.get(storage) ?? []), path])
  }
  return new Map([...groups.values()].flatMap((names) => names.map((name) => [name, names] as const)))
}

const requireEqual = (source: ByteSource, tied: readonly Tensor[]): void => {
  const [first, ...others] = tied
  if (first === undefined || others.length === 0) return
  const values = readTensorFloats(source, first)
  for (const other of others) {
    const own = readTensorFloats(source, other)
    if (own.length === values.length && own.every((value, at) => Object.is(value, values[at]))) continue
    throw badRequest(
      `'${first.name}' and '${other.name}' are one weight in the program (tied), but have different values. Leave one of ` +
        'them out of the weights, or export the program of a model in which they are not tied.',
    )
  }
}

const MAX_NAMED = 5

const requireComplete = (missing: readonly string[]): void => {
  if (missing.length === 0) return
  const named = missing.slice(0, MAX_NAMED).map((name) => `'${name}'`)
  const more = missing.length > MAX_NAMED ? `, and ${missing.length - MAX_NAMED} more` : ''
  throw badRequest(
    `The program needs weights that the file does not have: ${named.join(', ')}${more}. Save the whole state dict, ` +
      'including buffers: torch.save(model.state_dict(), "weights.pt").',
  )
}

/**
 * Replaces a program's weights with the tensors of a state dict. A tied weight may have any of its names:
 * safetensors.torch.save_model keeps only one.
 * @param used the inputs that the program reads. It reads no counters (num_batches_tracked), which may be missing
 * @throws bad_request if the program does not have a tensor, the state dict lacks a weight, or tied weights differ
 */
export const replacedWeights = (
  source: ByteSource,
  archive: TorchArchive,
  used: ReadonlySet<string>,
): ReplacedWeights => {
  const tensors = new Map(readWeights(source).tensors.map((tensor) => [tensor.name, tensor]))
  const { inputs } = archive.program
  const known = new Set(inputs.map(({ path }) => path))
  const extra = [...tensors.keys()].find((name) => !known.has(name))
  if (extra !== undefined) {
    throw badRequest(
      `The weights have '${extra}', which the program does not have: they belong to another architecture.`,
    )
  }
  const tied = tiedNames(archive)
  const tensorsOf = (path: string): Tensor[] => (tied.get(path) ?? [path]).flatMap((name) => tensors.get(name) ?? [])
  const needed = inputs.filter(({ name, isInStateDict }) => isInStateDict && used.has(name))
  requireComplete(needed.flatMap(({ path }) => (tensorsOf(path).length === 0 ? [path] : [])))
  for (const names of new Set(tied.values())) requireEqual(source, tensorsOf(names[0]!))
  return (path, type) => {
    const tensor = tensors.get(path) ?? tensorsOf(path)[0]
    return tensor && read(source, tensor, type)
  }
}
