// Operators on constants that exporters use to compute shapes and weights.
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { type ElementType, elementCount, type OnnxTensor } from './model.ts'
import { numbersOf, tensorOf } from './tensors.ts'

/** A constant with its elements as numbers, row-major. */
export interface Constant {
  readonly type: ElementType
  readonly shape: readonly number[]
  readonly values: ArrayLike<number>
}

export const constantOf = (tensor: OnnxTensor): Constant => ({
  type: tensor.type,
  shape: tensor.shape,
  values: numbersOf(tensor),
})

export const tensorOfConstant = ({ type, shape, values }: Constant): OnnxTensor =>
  tensorOf(type as DType, shape, values)

/** The nonnegative axis. Throws bad_request outside of -rank to rank - 1. */
export const axisOf = (axis: number, rank: number): number => {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw badRequest(`The axis ${axis} does not exist in ${rank} dimensions.`)
  }
  return axis < 0 ? axis + rank : axis
}

/** The common shape after broadcasting. Throws bad_request if there is none. Source: NumPy's rules, as in ONNX. */
export const broadcastShapes = (shapes: readonly (readonly number[])[]): number[] => {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length))
  return Array.from({ length: rank }, (_, at) => {
    const sizes = shapes.map((shape) => shape[at - rank + shape.length] ?? 1).filter((size) => size !== 1)
    if (sizes.some((size) => size !== sizes[0])) {
      throw badRequest(
        `The shapes ${shapes.map((shape) => `[${shape.join(', ')}]`).join(' and ')} cannot be broadcast together.`,
      )
    }
    return sizes[0] ?? 1
  })
}

export const stridesOf = (shape: readonly number[]): number[] => {
  const strides = shape.map(() => 1)
  for (let at = shape.length - 2; at >= 0; at--) strides[at] = strides[at + 1]! * shape[at + 1]!
  return strides
}

/** The elements of a view: `offset + sum(index * stride)` for each index of the shape, row-major. */
export const viewElements = (
  values: ArrayLike<number>,
  shape: readonly number[],
  strides: readonly number[],
  offset = 0,
): Float64Array => {
  const result = new Float64Array(elementCount(shape))
  const index = shape.map(() => 0)
  let from = offset
  for (let to = 0; to < result.length; to++) {
    result[to] = values[from]!
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]!
      if (++index[axis]! < shape[axis]!) break
      from -= strides[axis]! * shape[axis]!
      index[axis] = 0
    }
  }
  return result
}

/** Repeats a constant along its dimensions of 1 and along new leading ones to get this shape. */
export const broadcastTo = (constant: Constant, shape: readonly number[]): Constant => {
  const strides = stridesOf(constant.shape)
  const missing = shape.length - constant.shape.length
  const steps = shape.map((_, at) => ((constant.shape[at - missing] ?? 1) === 1 ? 0 : strides[at - missing]!))
  return { type: constant.type, shape, values: viewElements(constant.values, shape, steps) }
}

export const transposeConstant = (constant: Constant, permutation: readonly number[]): Constant => {
  const strides = stridesOf(constant.shape)
  const shape = permutation.map((axis) => constant.shape[axis]!)
  const steps = permutation.map((axis) => strides[axis]!)
  return { type: constant.type, shape, values: viewElements(constant.values, shape, steps) }
}

export const transposeTensor = (tensor: OnnxTensor, permutation: readonly number[]): OnnxTensor =>
  tensorOfConstant(transposeConstant(constantOf(tensor), permutation))

/** [before, along, after]: the number of elements before, on, and after an axis. */
export const aroundAxis = (shape: readonly number[], axis: number): [number, number, number] => [
  elementCount(shape.slice(0, axis)),
  shape[axis]!,
  elementCount(shape.slice(axis + 1)),
]

/** The elements at these positions of an axis. */
export const takeAlong = (constant: Constant, axis: number, positions: ArrayLike<number>): Float64Array => {
  const [before, along, after] = aroundAxis(constant.shape, axis)
  const result = new Float64Array(before * positions.length * after)
  let to = 0
  for (let block = 0; block < before; block++) {
    for (let at = 0; at < positions.length; at++) {
      const position = positions[at]! < 0 ? positions[at]! + along : positions[at]!
      if (!(position >= 0 && position < along)) {
        throw badRequest(`The index ${positions[at]} is outside a dimension of ${along}.`)
      }
      const from = (block * along + position) * after
      for (let i = 0; i < after; i++) result[to++] = constant.values[from + i]!
    }
  }
  return result
}
