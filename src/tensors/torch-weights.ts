import { badRequest } from '../domain/errors.ts'
import { MAX_NAME_CHARACTERS, MAX_NESTING, MAX_VISITED_VALUES } from './limits.ts'
import type { PickleValue } from './pickle-value.ts'
import { requireInside, requireShape, showName } from './shape.ts'
import { isTensor, isUnusable, type TorchTensor } from './torch-objects.ts'
import { BYTES_OF, type Tensor } from './weight-file.ts'

/** The position of a storage's bytes in the file. */
export interface StoragePlace {
  readonly byteOffset: number
  readonly size: number
}

export interface NamedTensor {
  readonly name: string
  readonly tensor: TorchTensor
}

/** Checkpoints keep the weights under one of these keys, next to the optimizer and the epoch. */
const WEIGHT_KEYS = ['state_dict', 'model_state_dict', 'model']

/** True if the value looks like a torch optimizer's state_dict(), whose tensors are not weights. */
const isOptimizerState = (value: PickleValue): boolean =>
  value instanceof Map && value.has('state') && value.has('param_groups')

interface Walk {
  readonly found: NamedTensor[]
  visited: number
  characters: number
}

const join = (prefix: string, key: PickleValue): string => {
  if (typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint')
    throw badRequest(`The weights below ${showName(prefix)} are under a key that is neither text nor a number.`)
  return prefix === '' ? String(key) : `${prefix}.${key}`
}

const collect = (walk: Walk, name: string, value: PickleValue, depth: number): void => {
  if (++walk.visited > MAX_VISITED_VALUES || walk.characters > MAX_NAME_CHARACTERS)
    throw badRequest('The checkpoint contains more values than any model needs. Save model.state_dict() alone.')
  if (isTensor(value)) {
    walk.characters += name.length
    walk.found.push({ name, tensor: value })
  } else if (isUnusable(value)) {
    throw badRequest(`Tensor ${showName(name)} is ${value.what}; it cannot be aggregated.`)
  } else if (value instanceof Map || Array.isArray(value)) {
    if (isOptimizerState(value)) return
    if (depth >= MAX_NESTING)
      throw badRequest(`The checkpoint nests deeper than ${MAX_NESTING} levels at ${showName(name)}.`)
    for (const [key, item] of value.entries()) {
      // Most values in a checkpoint's history are plain; building names for them would be the expensive part.
      if (typeof item === 'object' && item !== null) collect(walk, join(name, key), item, depth + 1)
      else walk.visited++
    }
  }
}

/** Collects a checkpoint's tensors; joins nested names with dots and ignores other values. Throws bad_request. */
export const findWeights = (root: PickleValue): NamedTensor[] => {
  const walked = (value: PickleValue, name = ''): NamedTensor[] => {
    const walk: Walk = { found: [], visited: 0, characters: 0 }
    collect(walk, name, value, 0)
    return walk.found
  }
  if (root instanceof Map)
    for (const key of WEIGHT_KEYS) {
      const value = root.get(key)
      const weights = value instanceof Map || Array.isArray(value) ? walked(value) : []
      if (weights.length > 0) return weights
    }
  const weights = isTensor(root) || isUnusable(root) ? walked(root, 'tensor') : walked(root)
  if (weights.length === 0)
    throw badRequest(
      'The PyTorch file contains no tensors. Save the weights with torch.save(model.state_dict(), path).',
    )
  return weights
}

/** Locates a rebuilt tensor's elements; checks its type and that it lies within its storage. */
export const placeTensor = (
  named: NamedTensor,
  places: ReadonlyMap<string, StoragePlace>,
  bigEndian: boolean,
): Tensor => {
  const { name, tensor } = named
  const { dtype, torchName } = tensor.type
  if (dtype === null)
    throw badRequest(`Tensor ${showName(name)} has elements of type torch.${torchName}, which cannot be aggregated.`)
  const place = places.get(tensor.storage.key)
  if (place === undefined) throw badRequest(`Tensor ${showName(name)} has no data in the file: its storage is missing.`)
  const shape = requireShape(tensor.shape, name)
  const declared = tensor.storage.elements * tensor.storage.type.bytes
  if (declared > place.size)
    throw badRequest(
      `Tensor ${showName(name)} has a storage of ${declared} bytes, but the file contains only ${place.size} of them. ` +
        'Send the whole file again.',
    )
  const start = tensor.storage.offset * tensor.storage.type.bytes
  requireInside({ dtype, shape, strides: tensor.strides, offset: tensor.offset }, declared - start, name)
  return {
    name,
    dtype,
    shape,
    strides: tensor.strides,
    byteOffset: place.byteOffset + start + tensor.offset * BYTES_OF[dtype],
    bigEndian: bigEndian && BYTES_OF[dtype] > 1,
    deflated: null,
  }
}
