import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { tensorOf } from '../onnx/tensors.ts'
import {
  damagedKeras,
  isModel,
  type Json,
  type KerasConstant,
  type KerasLayer,
  type KerasModel,
  modelOf,
  numbersIn,
} from './keras-config.ts'
import { functionName, type Scope, type Size, type Value } from './layer-call.ts'

interface Input {
  readonly name: string
  readonly shape: Json
  readonly type: string
}

export const isSize = (size: Size): boolean => typeof size === 'string' || (Number.isSafeInteger(size) && size >= 0)

const shapeSetting = ({ config }: KerasLayer): Json => config.batch_shape ?? config.batch_input_shape ?? null

/** The model's inputs: its input layers, or the shape that its first layer was built for. */
export const inputsOf = (model: KerasModel): Input[] => {
  if (!model.isSequential) {
    const byName = new Map(model.layers.map((layer) => [layer.name, layer]))
    return model.inputs.map(({ layer: name }) => {
      const layer = byName.get(name)
      if (layer === undefined) throw damagedKeras(`its input '${name}' is missing`)
      return { name, shape: shapeSetting(layer), type: functionName(layer.config.dtype ?? 'float32') }
    })
  }
  const [first] = model.layers
  if (first === undefined) throw badRequest('The model has no layers.')
  if (isModel(first)) return inputsOf(modelOf(first.className, first.config))
  const declared = shapeSetting(first)
  const type = first.className === 'InputLayer' ? functionName(first.config.dtype ?? 'float32') : 'float32'
  return [{ name: 'input', shape: declared ?? model.builtShape, type }]
}

/** Keras's types; half precision is computed in float32. */
export const TYPES: Readonly<Record<string, DType>> = {
  float16: 'f32',
  bfloat16: 'f32',
  float32: 'f32',
  float64: 'f64',
  int8: 'i8',
  uint8: 'u8',
  int32: 'i32',
  int64: 'i64',
  bool: 'bool',
}

export const declaredInput = (scope: Scope, input: Input, at: number, given: readonly number[] | undefined): Value => {
  const declared = Array.isArray(input.shape) ? (input.shape as readonly Json[]) : undefined
  const fixed = at === 0 ? given : undefined
  if (declared === undefined && fixed === undefined) {
    throw badRequest(
      `The file does not say the shape of the input '${input.name}'. Give an input shape, such as 1,28,28,1.`,
    )
  }
  const shape = (declared ?? fixed!).map((size, axis): Size => {
    const requested = fixed?.[axis]
    if (typeof size === 'number' && (requested === undefined || requested === size)) return size
    if (typeof size !== 'number' && requested !== undefined) return requested
    // All inputs share the batch.
    if (typeof size !== 'number') return axis === 0 ? (given?.[0] ?? 'batch') : `size_${axis}`
    throw badRequest(
      `The input shape [${fixed!.join(', ')}] does not fit the input '${input.name}', which is [${declared!.map((s) => s ?? 'any').join(', ')}].`,
    )
  })
  if (fixed !== undefined && fixed.length !== shape.length) {
    throw badRequest(
      `The input shape [${fixed.join(', ')}] has ${fixed.length} sizes; the input '${input.name}' has ${shape.length}.`,
    )
  }
  if (!shape.every(isSize)) throw damagedKeras(`the input '${input.name}' has the shape [${shape.join(', ')}]`)
  const type = ownEntry(TYPES, input.type)
  if (type === undefined)
    throw badRequest(`The input '${input.name}' is of type ${input.type}, which is not converted.`)
  return { name: scope.builder.input(input.name, type, shape), shape, type, channelsFirst: false, mask: null }
}

/** A tensor stored in the architecture. */
export const constantValue = (scope: Scope, layer: string, { value, dtype }: KerasConstant): Value => {
  const type = ownEntry(TYPES, dtype)
  if (type === undefined) throw badRequest(`A constant of '${layer}' is of type ${dtype}, which is not converted.`)
  const shape: number[] = []
  for (let part = value; Array.isArray(part); part = part[0] ?? null) shape.push(part.length)
  const name = scope.builder.constant(`${layer}/constant`, tensorOf(type, shape, numbersIn(value)))
  return { name, shape, type, channelsFirst: false, mask: null }
}
