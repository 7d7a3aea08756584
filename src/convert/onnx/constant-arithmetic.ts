import { at, type Evaluate, sum, unchanged } from './constant-operator.ts'
import { aroundAxis, broadcastTo, transposeConstant } from './constants.ts'
import { type ElementType, elementCount } from './model.ts'
import { axesOf } from './shape-values.ts'

const isInteger = (type: ElementType): boolean => type === 'bool' || /^[iu]\d+$/.test(type)

const unary =
  (compute: (x: number) => number): Evaluate =>
  (context) => [Float64Array.from(at(context, 0).values, compute)]

const binary =
  (compute: (a: number, b: number) => number): Evaluate =>
  (context, [output]) => {
    const [a, b] = [0, 1].map((index) => broadcastTo(at(context, index), output!.shape).values)
    return [Float64Array.from(a!, (left, i) => compute(left, b![i]!))]
  }

const divide: Evaluate = (context, outputs) => {
  const whole = isInteger(context.input(0).type)
  return binary((a, b) => (whole ? (b === 0 ? 0 : Math.trunc(a / b)) : a / b))(context, outputs)
}

const modulo: Evaluate = (context, outputs) =>
  binary((a, b) => (context.int('fmod') !== 0 ? a % b : a - Math.floor(a / b) * b))(context, outputs)

const many =
  (compute: (a: number, b: number) => number): Evaluate =>
  (context, [output]) => {
    const inputs = context.node.inputs.map((_, index) => broadcastTo(at(context, index), output!.shape).values)
    return [inputs.reduce((a, b) => Float64Array.from(a, (left, i) => compute(left, b[i]!)))]
  }

const reduced =
  (compute: (values: number[]) => number): Evaluate =>
  (context) => {
    const data = at(context, 0)
    const given = axesOf(context, data.shape.length)
    const none = given === undefined || given.length === 0
    if (none && context.int('noop_with_empty_axes') !== 0) return [data.values]
    const all = data.shape.map((_, axis) => axis)
    const axes = none ? all : given
    const kept = all.filter((axis) => !axes.includes(axis))
    const moved = transposeConstant(data, [...kept, ...axes]).values as Float64Array
    const size = elementCount(axes.map((axis) => data.shape[axis]!))
    const count = elementCount(kept.map((axis) => data.shape[axis]!))
    return [Array.from({ length: count }, (_, i) => compute([...moved.subarray(i * size, (i + 1) * size)]))]
  }
/** Zero point and scale along an axis, or in blocks of it: `(x - zero) * scale`. */
const dequantize: Evaluate = (context) => {
  const data = at(context, 0)
  const scale = at(context, 1)
  const zero = context.has(2) ? at(context, 2).values : undefined
  if (scale.values.length === 1) {
    return [Float64Array.from(data.values, (x) => Math.fround((x - (zero?.[0] ?? 0)) * scale.values[0]!))]
  }
  const axis = context.axis('axis', 1)
  const blocks = context.int('block_size')
  const [, along, after] = aroundAxis(data.shape, axis)
  const groups = blocks > 0 ? Math.ceil(along / blocks) : along
  return [
    Float64Array.from(data.values, (x, i) => {
      const place = Math.floor(i / after) % along
      const group = blocks > 0 ? Math.floor(place / blocks) : place
      const from = blocks > 0 ? (Math.floor(i / (after * along)) * groups + group) * after + (i % after) : group
      return Math.fround((x - (zero?.[from] ?? 0)) * scale.values[from]!)
    }),
  ]
}

const cast: Evaluate = (context, [output]) => {
  const toInteger = isInteger(output!.type) && !isInteger(at(context, 0).type)
  if (output!.type === 'bool') return unary((x) => (x === 0 ? 0 : 1))(context, [output!])
  return toInteger ? unary(Math.trunc)(context, [output!]) : unchanged(context, [output!])
}

export const ARITHMETIC: Readonly<Record<string, Evaluate>> = {
  Abs: unary(Math.abs),
  Add: binary((a, b) => a + b),
  And: binary((a, b) => (a !== 0 && b !== 0 ? 1 : 0)),
  Cast: cast,
  CastLike: cast,
  Ceil: unary(Math.ceil),
  Cos: unary(Math.cos),
  DequantizeLinear: dequantize,
  Div: divide,
  Equal: binary((a, b) => (a === b ? 1 : 0)),
  Exp: unary(Math.exp),
  Floor: unary(Math.floor),
  Greater: binary((a, b) => (a > b ? 1 : 0)),
  GreaterOrEqual: binary((a, b) => (a >= b ? 1 : 0)),
  Less: binary((a, b) => (a < b ? 1 : 0)),
  LessOrEqual: binary((a, b) => (a <= b ? 1 : 0)),
  Log: unary(Math.log),
  Max: many(Math.max),
  Min: many(Math.min),
  Mod: modulo,
  Mul: binary((a, b) => a * b),
  Neg: unary((x) => -x),
  Not: unary((x) => (x === 0 ? 1 : 0)),
  Or: binary((a, b) => (a !== 0 || b !== 0 ? 1 : 0)),
  Pow: binary((a, b) => a ** b),
  Reciprocal: unary((x) => 1 / x),
  ReduceMax: reduced((values) => values.reduce((a, b) => Math.max(a, b))),
  ReduceMean: reduced((values) => sum(values) / values.length),
  ReduceMin: reduced((values) => values.reduce((a, b) => Math.min(a, b))),
  ReduceProd: reduced((values) => values.reduce((product, value) => product * value, 1)),
  ReduceSum: reduced(sum),
  Sin: unary(Math.sin),
  Sqrt: unary(Math.sqrt),
  Sub: binary((a, b) => a - b),
}
