// Operators that write into a tensor.

import { ownEntry } from '../../../domain/own-entry.ts'
import { int, text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { INT64_END, sliced } from './indexing.ts'

/** Replaces a slice of the input ('self') with these elements. */
export const scatterSlice = (
  node: Lowering,
  elements: string,
  axis: number,
  start = 0,
  end = INT64_END,
  step = 1,
): string => {
  const size = node.shape()[axis]!
  if (typeof size === 'number') {
    const clamp = (bound: number) => Math.max(0, Math.min(size, bound < 0 ? bound + size : bound))
    const [from, to] = [clamp(start), clamp(end)]
    const count = Math.max(0, Math.ceil((to - from) / step))
    if (count === 0 || count === size) return count === 0 ? node.input() : elements
    const both = node.emit('Concat', [node.input(), elements], { axis: int(axis) })
    const changed = (at: number) => at >= from && at < to && (at - from) % step === 0
    const positions = node.indices([size], (at) => (changed(at) ? size + (at - from) / step : at))
    return node.emit('Gather', [both, positions], { axis: int(axis) })
  }
  if (step !== 1) throw node.refuse('it changes every other element of a dynamic size; export it with a fixed size.')
  const before = start === 0 ? [] : [sliced(node, axis, 0, start, 1)]
  const after = end >= INT64_END ? [] : [sliced(node, axis, end, INT64_END, 1)]
  const parts = [...before, elements, ...after]
  return parts.length === 1 ? elements : node.emit('Concat', parts, { axis: int(axis) })
}

const REDUCTIONS: Readonly<Record<string, string>> = {
  sum: 'add',
  add: 'add',
  prod: 'mul',
  multiply: 'mul',
  amax: 'max',
  amin: 'min',
}

/** Writes values to positions along an axis. */
const scatter =
  (fixed?: string): Operator =>
  (node) => {
    const axis = node.axis('dim', node.shape().length)
    const named = node.text('reduce', '')
    const reduction = fixed ?? (named === '' ? 'none' : ownEntry(REDUCTIONS, named))
    if (reduction === undefined || !node.flag('include_self', true)) {
      throw node.refuse(
        'it reduces in a way that ONNX does not support; use sum, prod, amax, or amin, with include_self.',
      )
    }
    const to = node.shape('index')
    let values: string
    if (node.isTensor('src')) {
      const from = node.shape('src')
      // If the source is larger than the index, only a part of the index's size is used.
      const larger = from.flatMap((size, at) => (size === to[at] ? [] : [at]))
      const ends = larger.map((at) => to[at]!)
      values =
        larger.length === 0
          ? node.input('src')
          : node.emit('Slice', [
              node.input('src'),
              node.integers(larger.map(() => 0)),
              node.shapeValue(ends),
              node.integers(larger),
            ])
    } else values = node.expand(node.scalar(node.type(), node.number('value')), [], to)
    return node.emit('ScatterElements', [node.input(), node.input('index'), values], {
      axis: int(axis),
      reduction: text(reduction),
    })
  }

/** index_add, index_copy, and index_fill: whole slices along an axis. */
const scatterSlices =
  (reduction: string): Operator =>
  (node) => {
    const rank = node.shape().length
    const axis = node.axis('dim', rank)
    const to = node.shape().map((size, at) => (at === axis ? node.shape('index')[0]! : size))
    if (node.has('alpha') && node.number('alpha') !== 1) throw node.refuse('its alpha is not 1.')
    const places = node.reshape(
      node.input('index'),
      Array.from({ length: rank }, (_, at) => (at === axis ? -1 : 1)),
    )
    const ones = to.map((size, at) => (at === axis ? size : 1))
    const values = node.has('source') ? node.input('source') : node.expand(node.operand('value', node.type()), [], to)
    const inputs = [node.input(), node.expand(places, ones, to), values]
    return node.emit('ScatterElements', inputs, { axis: int(axis), reduction: text(reduction) })
  }

export const SCATTERING: Readonly<Record<string, Operator>> = {
  select_scatter: (node) => {
    const axis = node.axis('dim', node.shape().length)
    const at = node.number('index')
    const source = node.unsqueeze(node.operand('src', node.type()), [axis])
    return scatterSlice(node, source, axis, at, at === -1 ? undefined : at + 1)
  },
  slice_scatter: (node) => {
    const bound = (name: string) => (node.has(name) ? node.number(name) : undefined)
    const axis = node.axis('dim', node.shape().length, 0)
    const source = node.operand('src', node.type())
    return scatterSlice(node, source, axis, bound('start'), bound('end'), node.number('step', 1))
  },
  scatter: scatter(),
  scatter_add: scatter('add'),
  scatter_reduce: scatter(),
  index_add: scatterSlices('add'),
  index_copy: scatterSlices('none'),
  index_fill: scatterSlices('none'),
}
