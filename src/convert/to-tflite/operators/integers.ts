// Integer arithmetic, built from operators that have 64-bit kernels.
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph, TfliteType } from '../tflite-graph.ts'
import { broadcasting, castTo, SMALL_INTEGERS, unary } from './arithmetic.ts'

const scalar = (graph: TfliteGraph, type: TfliteType, value: number): Tensor => graph.constant(type, [], [value])

/** Uses the operator for the types that its kernel supports, and `compute` for other integers; widens small ones to 32 bits. */
const forTypes =
  (name: OperatorName, types: readonly TfliteType[], compute: (graph: TfliteGraph, x: Tensor) => Tensor) =>
  (graph: TfliteGraph, x: Tensor): Tensor => {
    if (SMALL_INTEGERS.has(x.type)) {
      const wide = castTo(graph, x, 'i32')
      return castTo(graph, types.includes('i32') ? graph.operator(name, [wide]) : compute(graph, wide), x.type)
    }
    return types.includes(x.type) ? graph.operator(name, [x]) : compute(graph, x)
  }

export const negative = forTypes('NEG', ['f32', 'i32', 'i64'], (graph, x) => graph.operator('NEG', [x]))

export const absolute = forTypes('ABS', ['f32', 'i32'], (graph, x) =>
  broadcasting(graph, 'MAXIMUM', [x, negative(graph, x)]),
)

export const signOf = forTypes('SIGN', ['f32', 'i32'], (graph, x) => {
  const least = broadcasting(graph, 'MAXIMUM', [x, scalar(graph, x.type, -1)])
  return broadcasting(graph, 'MINIMUM', [least, scalar(graph, x.type, 1)])
})

export const rectified = forTypes('RELU', ['f32'], (graph, x) =>
  broadcasting(graph, 'MAXIMUM', [x, scalar(graph, x.type, 0)]),
)

export const by = (compute: (graph: TfliteGraph, x: Tensor) => Tensor) => unary((x, _node, graph) => compute(graph, x))

/** Widens smaller integers to 32 bits, because their kernels expect quantized numbers. */
export const widened = (graph: TfliteGraph, x: Tensor): Tensor =>
  SMALL_INTEGERS.has(x.type) ? castTo(graph, x, 'i32') : x

/** An integer power by multiplication, which suffices for the small exponents in use: the kernel computes with 32 bits. */
export const wholePower = (graph: TfliteGraph, x: Tensor, exponent: number): Tensor =>
  Array.from({ length: exponent - 1 }).reduce<Tensor>((power) => broadcasting(graph, 'MUL', [power, x]), x)

/**
 * The int64 quotient, rounded toward zero. No kernel divides 64-bit integers: subtracting the remainder makes the dividend a
 * multiple of the divisor, and each float32 division finds 22 bits of their quotient.
 */
export const wideQuotient = (graph: TfliteGraph, dividend: Tensor, divisor: Tensor): Tensor => {
  const pair = (name: OperatorName, a: Tensor, b: Tensor) => broadcasting(graph, name, [a, b])
  const remainder = pair('FLOOR_MOD', dividend, divisor)
  const float = castTo(graph, divisor, 'f32')
  let rest = pair('SUB', dividend, remainder)
  let quotient: Tensor | undefined
  for (let step = 0; step < 3; step++) {
    const part = castTo(graph, graph.operator('ROUND', [pair('DIV', castTo(graph, rest, 'f32'), float)]), 'i64')
    quotient = quotient === undefined ? part : pair('ADD', quotient, part)
    if (step < 2) rest = pair('SUB', rest, pair('MUL', part, divisor))
  }
  // The floor is one less than the quotient toward zero if it is negative and there is a remainder.
  const zero = scalar(graph, 'i64', 0)
  const isInexact = broadcasting(graph, 'NOT_EQUAL', [remainder, zero], 'bool')
  const isNegative = broadcasting(graph, 'LESS', [quotient!, zero], 'bool')
  const correction = castTo(graph, broadcasting(graph, 'LOGICAL_AND', [isInexact, isNegative], 'bool'), 'i64')
  return pair('ADD', quotient!, correction)
}
