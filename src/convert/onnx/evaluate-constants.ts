import { badRequest } from '../../domain/errors.ts'
import { decodeElements } from '../../tensors/elements.ts'
import {
  aroundAxis,
  broadcastTo,
  type Constant,
  stridesOf,
  takeAlong,
  transposeConstant,
  viewElements,
} from './constants.ts'
import { type ElementType, elementCount, type OnnxTensor } from './model.ts'
import type { NodeContext, StaticValue } from './node-context.ts'
import { padsOf, permutationOf, sliceRanges, splitSizes } from './shape-rules-arrangement.ts'
import { axesOf } from './shape-values.ts'

type Values = ArrayLike<number>
/** The elements of each output; its type and shape are known. */
type Evaluate = (context: NodeContext, outputs: readonly StaticValue[]) => readonly Values[]

const INTEGERS: ReadonlySet<ElementType> = new Set([
  'u8',
  'i8',
  'u16',
  'i16',
  'i32',
  'i64',
  'u32',
  'u64',
  'u4',
  'i4',
  'bool',
])

const at = (context: NodeContext, index: number): Constant => context.constant(index)!
const unchanged: Evaluate = (context) => [at(context, 0).values]

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
  const whole = INTEGERS.has(context.input(0).type)
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
    const given = axesOf(context, 1, data.shape.length)
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
const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)

const concat: Evaluate = (context, [output]) => {
  const axis = context.axis('axis', 1)
  const [before] = aroundAxis(output!.shape, axis)
  const inputs = context.node.inputs.map((_, index) => at(context, index))
  const result = new Float64Array(elementCount(output!.shape))
  let to = 0
  for (let block = 0; block < before; block++) {
    for (const { values } of inputs) {
      const size = values.length / before
      for (let i = 0; i < size; i++) result[to++] = values[block * size + i]!
    }
  }
  return [result]
}

const slice: Evaluate = (context, [output]) => {
  const data = at(context, 0)
  const strides = stridesOf(data.shape)
  const ranges = sliceRanges(context)
  const offset = sum(ranges.map(({ start }, axis) => start * strides[axis]!))
  return [
    viewElements(
      data.values,
      output!.shape,
      ranges.map(({ step }, axis) => step * strides[axis]!),
      offset,
    ),
  ]
}

const split: Evaluate = (context) => {
  const axis = context.axis('axis', 0)
  let first = 0
  return splitSizes(context).map((size) => {
    const positions = Array.from({ length: size }, (_, i) => first + i)
    first += size
    return takeAlong(at(context, 0), axis, positions)
  })
}

const tile: Evaluate = (context, [output]) => {
  const { shape } = at(context, 0)
  let data: Constant = at(context, 0)
  for (const [axis, size] of shape.entries()) {
    const positions = Array.from({ length: output!.shape[axis]! }, (_, i) => i % size)
    const wider = data.shape.map((old, other) => (other === axis ? positions.length : old))
    data = { type: data.type, shape: wider, values: takeAlong(data, axis, positions) }
  }
  return [data.values]
}

const pad: Evaluate = (context, [output]) => {
  if (context.text('mode', 'constant') !== 'constant') return []
  const data = at(context, 0)
  const pads = padsOf(context)
  if (pads.some((pair) => pair.some((size) => size < 0))) return []
  const result = new Float64Array(elementCount(output!.shape)).fill(context.has(2) ? context.numbers(2)[0]! : 0)
  const strides = stridesOf(output!.shape)
  const index = data.shape.map(() => 0)
  for (let from = 0; from < data.values.length; from++) {
    result[sum(index.map((place, axis) => (place + pads[axis]![0]) * strides[axis]!))] = data.values[from]!
    for (let axis = index.length - 1; axis >= 0 && ++index[axis]! === data.shape[axis]; axis--) index[axis] = 0
  }
  return [result]
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
  const toInteger = INTEGERS.has(output!.type) && !INTEGERS.has(at(context, 0).type)
  if (output!.type === 'bool') return unary((x) => (x === 0 ? 0 : 1))(context, [output!])
  return toInteger ? unary(Math.trunc)(context, [output!]) : unchanged(context, [output!])
}

/** One triangle of each matrix, zeros elsewhere. */
const trilu: Evaluate = (context) => {
  const { shape, values } = at(context, 0)
  const [rows, columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1]
  const diagonal = context.has(1) ? context.numbers(1)[0]! : 0
  const isUpper = context.int('upper', 1) !== 0
  return [
    Float64Array.from(values, (x, i) => {
      const beyond = (i % columns) - (Math.floor(i / columns) % rows) - diagonal
      return (isUpper ? beyond >= 0 : beyond <= 0) ? x : 0
    }),
  ]
}

const where: Evaluate = (context, [output]) => {
  const [condition, yes, no] = [0, 1, 2].map((index) => broadcastTo(at(context, index), output!.shape).values)
  return [Float64Array.from(condition!, (holds, i) => (holds === 0 ? no![i]! : yes![i]!))]
}

const OPERATORS: Readonly<Record<string, Evaluate>> = {
  Abs: unary(Math.abs),
  Add: binary((a, b) => a + b),
  And: binary((a, b) => (a !== 0 && b !== 0 ? 1 : 0)),
  Cast: cast,
  CastLike: cast,
  Ceil: unary(Math.ceil),
  Concat: concat,
  Cos: unary(Math.cos),
  DequantizeLinear: dequantize,
  Div: divide,
  Dropout: unchanged,
  Equal: binary((a, b) => (a === b ? 1 : 0)),
  Exp: unary(Math.exp),
  Expand: (context, [output]) => [broadcastTo(at(context, 0), output!.shape).values],
  Flatten: unchanged,
  Floor: unary(Math.floor),
  Gather: (context) => {
    const axis = context.axis('axis', 0)
    return [takeAlong(at(context, 0), axis, at(context, 1).values)]
  },
  Greater: binary((a, b) => (a > b ? 1 : 0)),
  GreaterOrEqual: binary((a, b) => (a >= b ? 1 : 0)),
  Identity: unchanged,
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
  Pad: pad,
  Pow: binary((a, b) => a ** b),
  Range: (context, [output]) => {
    const [start, , delta] = [0, 1, 2].map((index) => context.numbers(index)[0]!)
    return [Float64Array.from({ length: output!.shape[0]! }, (_, i) => start! + i * delta!)]
  },
  Reciprocal: unary((x) => 1 / x),
  ReduceMax: reduced((values) => values.reduce((a, b) => Math.max(a, b))),
  ReduceMean: reduced((values) => sum(values) / values.length),
  ReduceMin: reduced((values) => values.reduce((a, b) => Math.min(a, b))),
  ReduceProd: reduced((values) => values.reduce((product, value) => product * value, 1)),
  ReduceSum: reduced(sum),
  Reshape: unchanged,
  Sin: unary(Math.sin),
  Slice: slice,
  Split: split,
  Sqrt: unary(Math.sqrt),
  Squeeze: unchanged,
  Sub: binary((a, b) => a - b),
  Tile: tile,
  Transpose: (context) => [transposeConstant(at(context, 0), permutationOf(context)).values],
  Trilu: trilu,
  Unsqueeze: unchanged,
  Where: where,
}

/** Operators that need no constant input, only its shape. */
const OF_SHAPE: Readonly<Record<string, Evaluate>> = {
  ConstantOfShape: (context, [output]) => {
    const fill = context.node.attributes.value
    const value = fill?.kind === 'tensor' ? (decodeElements(fill.value.data, output!.type as 'f32')[0] ?? 0) : 0
    return [new Float64Array(elementCount(output!.shape)).fill(value)]
  },
  Shape: (context, [output]) => {
    const start = context.int('start')
    const { shape } = context.input(0)
    const first = Math.min(Math.max(start < 0 ? start + shape.length : start, 0), shape.length)
    return [shape.slice(first, first + output!.shape[0]!)]
  },
  Size: (context) => [[elementCount(context.input(0).shape)]],
}

/** The tensor of a Constant node. */
const constantNode = (context: NodeContext): (Constant | OnnxTensor)[] => {
  const [name, attribute] = Object.entries(context.node.attributes)[0] ?? ['', undefined]
  if (attribute?.kind === 'tensor') return [attribute.value]
  if (attribute?.kind === 'string' || attribute?.kind === 'strings') return []
  if (attribute === undefined || attribute.kind === 'graph') throw badRequest(`The attribute '${name}' is no constant.`)
  const values = typeof attribute.value === 'number' ? [attribute.value] : [...attribute.value]
  const type = attribute.kind.startsWith('float') ? 'f32' : 'i64'
  return [{ type, shape: typeof attribute.value === 'number' ? [] : [values.length], values }]
}

/**
 * The outputs of a node whose inputs are all constant, or of which only shapes are asked. Empty where it has to be
 * computed when the model runs, or has more than `maxElements` elements; a large weight may be rearranged, not enlarged.
 */
export const evaluateConstant = (
  context: NodeContext,
  outputs: readonly StaticValue[],
  constants: ReadonlyMap<string, OnnxTensor>,
  maxElements: number,
): readonly (Constant | OnnxTensor)[] => {
  const { node } = context
  if (node.domain !== '') return []
  if (node.type === 'Constant') return constantNode(context)
  const inputs = node.inputs.filter((name) => name !== '')
  if (node.type === 'Identity' && constants.has(inputs[0] ?? '')) return [constants.get(inputs[0]!)!]
  const count = Math.max(0, ...outputs.map(({ shape }) => elementCount(shape)))
  if (outputs.length === 0 || count > maxElements || outputs.some(({ type }) => type === 'string')) return []
  const ofShape = Object.hasOwn(OF_SHAPE, node.type) ? OF_SHAPE[node.type] : undefined
  const operator = Object.hasOwn(OPERATORS, node.type) ? OPERATORS[node.type] : undefined
  const known = inputs.every((name) => {
    const tensor = constants.get(name)
    return tensor !== undefined && tensor.type !== 'string' && elementCount(tensor.shape) <= maxElements
  })
  const evaluate = ofShape ?? (known ? operator : undefined)
  if (evaluate === undefined) return []
  const results = evaluate(context, outputs)
  return results.flatMap((values, index) => {
    const output = outputs[index]
    return output === undefined ? [] : [{ ...output, values }]
  })
}
