// Operators that move elements.
import { badRequest } from '../../../domain/errors.ts'
import { axisOf } from '../../onnx/constants.ts'
import { padsOf, permutationOf, sliceRanges, splitSizes } from '../../onnx/shape-rules-arrangement.ts'
import { arrange, type Lower, type Lowering, plainOrder, reshape } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic, castTo, orderOfResult } from './arithmetic.ts'
import { slice as cut, take } from './slices.ts'

const reshaped: Lower = (node) => node.define(reshape(node.graph, node.flat(0), node.result().shape))

/** Nothing moves: the same tensor is read in another order. */
const transpose: Lower = (node) => {
  const order = node.order(0)
  const permutation = permutationOf(node)
  const moved = order.map((axis) => permutation.indexOf(axis))
  node.define(node.value(0, order), moved)
}

const concat: Lower = (node) => {
  const { shape, type } = node.result()
  const order = orderOfResult(node)
  const axis = axisOf(node.int('axis', 1), shape.length)
  const parts = node.node.inputs.flatMap((_, at) => (node.input(at).shape[axis] === 0 ? [] : [node.value(at, order)]))
  if (parts.length === 1) return node.define(parts[0]!, order)
  const options = { axis: order.indexOf(axis), activation: 0 }
  node.define(node.graph.operator('CONCATENATION', parts, { shape: arrange(shape, order), type }, options), order)
}

const split: Lower = (node) => {
  const order = node.order(0)
  const at = order.indexOf(node.axis('axis', 0))
  const x = node.value(0, order)
  const sizes = splitSizes(node)
  if (sizes.length === 1) return node.define(x, order)
  const axis = node.graph.scalar('i32', at)
  const results = sizes.map((size) => ({
    shape: x.shape.map((old, other) => (other === at ? size : old)),
    type: x.type,
  }))
  const inputs = [x, node.graph.vector('i32', sizes), axis]
  const parts = node.graph.operators('SPLIT_V', inputs, results, { splits: sizes.length })
  for (const [index, part] of parts.entries()) node.define(part, order, index)
}

const slice: Lower = (node) => {
  const order = node.order(0)
  const x = node.value(0, order)
  const ranges = arrange(sliceRanges(node), order)
  const shape = ranges.map(({ count }) => count)
  const begin = ranges.map(({ start }) => start)
  if (ranges.every(({ step }) => step === 1)) return node.define(cut(node.graph, x, begin, shape), order)
  const strides = ranges.map(({ step }) => step)
  // A slice that runs backward through the first element ends before it, which only a mask can express.
  const ends = ranges.map(({ start, step, count }) => start + step * count)
  const endMask = ends.reduce((mask, end, at) => (end < 0 ? mask | (1 << at) : mask), 0)
  const lists = [begin, ends.map((end) => Math.max(end, 0)), strides].map((list) => node.graph.vector('i32', list))
  const value = { beginMask: 0, endMask, ellipsisMask: 0, newAxisMask: 0, shrinkAxisMask: 0 }
  node.define(node.graph.operator('STRIDED_SLICE', [x, ...lists], { shape }, value), order)
}
const pad: Lower = (node) => {
  const order = node.order(0)
  const pads = arrange(padsOf(node), order)
  const mode = node.text('mode', 'constant')
  const source = node.value(0, order)
  const crop = (pair: readonly number[], side: number) => Math.max(0, -pair[side]!)
  const begin = pads.map((pair) => crop(pair, 0))
  const size = source.shape.map((length, at) => length - begin[at]! - crop(pads[at]!, 1))
  const x = cut(node.graph, source, begin, size)
  const list = pads.flatMap(([before, after]) => [Math.max(0, before), Math.max(0, after)])
  const paddings = node.graph.constant('i32', [pads.length, 2], list)
  const shape = x.shape.map((length, at) => length + list[2 * at]! + list[2 * at + 1]!)
  if (mode === 'reflect') {
    return node.define(node.graph.operator('MIRROR_PAD', [x, paddings], { shape }, { mode: 0 }), order)
  }
  if (mode !== 'constant') return node.define(gatherPad(node, x, list, mode), order)
  const fill = node.opset < 11 ? node.float('value') : node.has(2) ? Number(node.weights(2, 'value').values[0]) : 0
  const value = node.graph.vector(x.type, [fill])
  const padded =
    fill === 0
      ? node.graph.operator('PAD', [x, paddings], { shape })
      : node.graph.operator('PADV2', [x, paddings, value], { shape })
  node.define(padded, order)
}

/** Padding with the edge or by wrapping around: existing elements are gathered. */
const gatherPad = (node: Lowering, x: Tensor, pads: readonly number[], mode: string): Tensor => {
  if (mode !== 'edge' && mode !== 'wrap') throw badRequest(`Padding with '${mode}' is not supported by TFLite.`)
  return x.shape.reduce((current, size, at) => {
    const [before, after] = [pads[2 * at]!, pads[2 * at + 1]!]
    if (before + after === 0) return current
    const places = Array.from({ length: before + size + after }, (_, place) => place - before)
    const from = places.map((place) =>
      mode === 'edge' ? Math.min(Math.max(place, 0), size - 1) : ((place % size) + size) % size,
    )
    return take(node.graph, current, from, at)
  }, x)
}

const expand: Lower = (node) => {
  const { shape } = node.result()
  const x = node.value(0)
  if (x.shape.join() === shape.join()) return node.define(x)
  const full = reshape(node.graph, x, [...Array.from({ length: shape.length - x.shape.length }, () => 1), ...x.shape])
  const repeats = shape.map((size, at) => (full.shape[at] === 1 ? size : 1))
  node.define(node.graph.operator('TILE', [full, node.graph.vector('i32', repeats)], { shape }))
}

const tile: Lower = (node) => {
  const order = node.order(0)
  const repeats = arrange(node.numbers(1), order)
  const shape = arrange(node.result().shape, order)
  const inputs = [node.value(0, order), node.graph.vector('i32', repeats)]
  node.define(node.graph.operator('TILE', inputs, { shape }), order)
}

const trilu: Lower = (node) => {
  const { shape, type } = node.result()
  const shift = node.has(1) ? Number(node.weights(1, 'diagonal').values[0]) : 0
  const [rows, columns] = shape.slice(-2) as [number, number]
  const upper = node.int('upper', 1) !== 0
  const keeps = Array.from({ length: rows * columns }, (_, at) => {
    const distance = (at % columns) - Math.floor(at / columns) - shift
    return (upper ? distance >= 0 : distance <= 0) ? 1 : 0
  })
  // Not a product, because attention masks contain infinities.
  const mask = node.graph.constant('bool', [...shape.slice(0, -2).map(() => 1), rows, columns], keeps)
  const zero = node.graph.scalar(type, 0)
  node.define(arithmetic(node.graph).select(mask, node.value(0), zero))
}

const oneHot: Lower = (node) => {
  const { shape, type } = node.result()
  const { graph } = node
  const axis = axisOf(node.int('axis', -1), shape.length)
  const depth = shape[axis]!
  const [off, on] = Array.from(node.weights(2, 'values').values) as [number, number]
  const indices = castTo(graph, node.value(0), 'i32')
  const own = shape.map((size, at) => (at === axis ? 1 : size))
  const along = shape.map((_, at) => (at === axis ? depth : 1))
  const places = graph.constant('i32', along, plainOrder(depth))
  const column = reshape(graph, indices, own)
  const positive = graph.operator('FLOOR_MOD', [column, graph.scalar('i32', depth)])
  const hot = graph.operator('EQUAL', [positive, places], { shape, type: 'bool' })
  const inside = graph.operator('EQUAL', [column, positive], { type: 'bool' })
  const negative = graph.operator('LESS', [column, graph.scalar('i32', 0)], { type: 'bool' })
  const low = graph.operator('GREATER_EQUAL', [column, graph.scalar('i32', -depth)], { type: 'bool' })
  const wrapped = graph.operator('LOGICAL_AND', [negative, low])
  const valid = graph.operator('LOGICAL_OR', [inside, wrapped])
  const both = graph.operator('LOGICAL_AND', [hot, valid])
  const [yes, no] = [on, off].map((value) => graph.scalar(type, value))
  node.define(graph.operator('SELECT_V2', [both, yes!, no!], { shape, type }))
}

export const SHAPING: Readonly<Record<string, Lower>> = {
  Concat: concat,
  Expand: expand,
  Flatten: reshaped,
  OneHot: oneHot,
  Pad: pad,
  Reshape: reshaped,
  Slice: slice,
  Split: split,
  Squeeze: reshaped,
  Tile: tile,
  Transpose: transpose,
  Trilu: trilu,
  Unsqueeze: reshaped,
}
