import { at, type Evaluate, sum, unchanged } from './constant-operator.ts'
import {
  aroundAxis,
  broadcastTo,
  type Constant,
  stridesOf,
  takeAlong,
  transposeConstant,
  viewElements,
} from './constants.ts'
import { elementCount } from './model.ts'
import { padsOf, permutationOf, sliceRanges, splitSizes } from './shape-rules-arrangement.ts'

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

/** One triangle of each matrix, with zeros elsewhere. */
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

export const ARRANGEMENT: Readonly<Record<string, Evaluate>> = {
  Concat: concat,
  Dropout: unchanged,
  Expand: (context, [output]) => [broadcastTo(at(context, 0), output!.shape).values],
  Flatten: unchanged,
  Gather: (context) => {
    const axis = context.axis('axis', 0)
    return [takeAlong(at(context, 0), axis, at(context, 1).values)]
  },
  Identity: unchanged,
  Pad: pad,
  Range: (context, [output]) => {
    const [start, , delta] = [0, 1, 2].map((index) => context.numbers(index)[0]!)
    return [Float64Array.from({ length: output!.shape[0]! }, (_, i) => start! + i * delta!)]
  },
  Reshape: unchanged,
  Slice: slice,
  Split: split,
  Squeeze: unchanged,
  Tile: tile,
  Transpose: (context) => [transposeConstant(at(context, 0), permutationOf(context)).values],
  Trilu: trilu,
  Unsqueeze: unchanged,
  Where: where,
}
