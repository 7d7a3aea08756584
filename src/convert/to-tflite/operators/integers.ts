// Integer arithmetic, built from operators that have 64-bit kernels.
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph, TfliteType } from '../tflite-graph.ts'
import { arithmetic, broadcasting, castTo, SMALL_INTEGERS, unary } from './arithmetic.ts'

/** Uses the operator for the types that its kernel supports, and `compute` for other integers; widens small ones to 32 bits. */
const forTypes =
  (name: OperatorName, types: readonly TfliteType[], compute: (graph: TfliteGraph, x: Tensor) => Tensor) =>
  (graph: TfliteGraph, x: Tensor): Tensor => {
    const wide = widened(graph, x)
    return castTo(graph, types.includes(wide.type) ? graph.operator(name, [wide]) : compute(graph, wide), x.type)
  }

/** Widens smaller integers to 32 bits, because their kernels expect quantized numbers. */
export const widened = (graph: TfliteGraph, x: Tensor): Tensor =>
  SMALL_INTEGERS.has(x.type) ? castTo(graph, x, 'i32') : x

export const negative = forTypes('NEG', ['f32', 'i32', 'i64'], (graph, x) => graph.operator('NEG', [x]))

export const absolute = forTypes('ABS', ['f32', 'i32'], (graph, x) => arithmetic(graph).max(x, negative(graph, x)))

export const signOf = forTypes('SIGN', ['f32', 'i32'], (graph, x) => {
  const { min, max } = arithmetic(graph)
  return min(max(x, graph.scalar(x.type, -1)), graph.scalar(x.type, 1))
})

export const rectified = forTypes('RELU', ['f32'], (graph, x) => arithmetic(graph).max(x, graph.scalar(x.type, 0)))

export const by = (compute: (graph: TfliteGraph, x: Tensor) => Tensor) => unary((x, _node, graph) => compute(graph, x))

/** An integer power by multiplication, which suffices for the small exponents in use: the kernel computes with 32 bits. */
export const wholePower = (graph: TfliteGraph, x: Tensor, exponent: number): Tensor =>
  Array.from({ length: exponent - 1 }).reduce<Tensor>((power) => arithmetic(graph).mul(power, x), x)

/**
 * The int64 quotient, rounded toward zero. No kernel divides 64-bit integers: subtracting the remainder makes the dividend a
 * multiple of the divisor, and each float32 division finds 22 bits of their quotient.
 */
export const wideQuotient = (graph: TfliteGraph, dividend: Tensor, divisor: Tensor): Tensor => {
  const { add, sub, mul, div, notEqual, less, and } = arithmetic(graph)
  const remainder = broadcasting(graph, 'FLOOR_MOD', [dividend, divisor])
  const float = castTo(graph, divisor, 'f32')
  let rest = sub(dividend, remainder)
  let quotient: Tensor | undefined
  for (let step = 0; step < 3; step++) {
    const part = castTo(graph, graph.operator('ROUND', [div(castTo(graph, rest, 'f32'), float)]), 'i64')
    quotient = quotient === undefined ? part : add(quotient, part)
    if (step < 2) rest = sub(rest, mul(part, divisor))
  }
  // The floor is one less than the quotient toward zero if it is negative and there is a remainder.
  const zero = graph.scalar('i64', 0)
  const isTooHigh = and(notEqual(remainder, zero), less(quotient!, zero))
  return add(quotient!, castTo(graph, isTooHigh, 'i64'))
}
