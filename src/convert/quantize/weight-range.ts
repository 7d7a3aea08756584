// Weights that a smaller type cannot represent: refused if the model is broken, otherwise left unchanged.
import { badRequest, type ServiceError } from '../../domain/errors.ts'
import type { OnnxGraph, OnnxNode } from '../onnx/model.ts'
import { numbersOf } from '../onnx/tensors.ts'

/** The largest half-precision number, and the smallest with full precision. */
export const MAX_HALF = 65504
const MIN_HALF = 2 ** -14

export const notFinite = (name: string): ServiceError =>
  badRequest(
    `The weight '${name}' is NaN or infinite somewhere. A model with such weights does not work: export it again.`,
  )

export const areFinite = (values: ArrayLike<number>): boolean => {
  for (let at = 0; at < values.length; at++) if (!Number.isFinite(values[at])) return false
  return true
}

/** True if half precision would make a weight infinite, or if all weights are too small for its full precision. */
export const leavesHalf = (values: ArrayLike<number>): boolean => {
  let largest = 0
  for (let at = 0; at < values.length; at++) {
    const size = Math.abs(values[at]!)
    if (size > largest && size < Number.POSITIVE_INFINITY) largest = size
  }
  return largest > MAX_HALF || (largest > 0 && largest < MIN_HALF)
}

/** Operators that multiply by their weights. Others may use infinity deliberately: masks are added. */
const MULTIPLYING: ReadonlySet<string> = new Set(['MatMul', 'Gemm', 'Conv', 'ConvTranspose', 'LSTM', 'GRU', 'RNN'])

const multiplies = ({ domain, type }: OnnxNode): boolean => domain === '' && MULTIPLYING.has(type)

/** Throws bad_request naming a weight that is not finite. */
export const requireFiniteWeights = ({ nodes, initializers }: OnnxGraph): void => {
  const names = new Set(nodes.filter(multiplies).flatMap(({ inputs }) => inputs))
  for (const name of names) {
    const tensor = initializers.get(name)
    if (tensor?.type === 'f32' && !areFinite(numbersOf(tensor))) throw notFinite(name)
  }
}
