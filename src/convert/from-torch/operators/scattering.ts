// Operators that write into a tensor.

import { ownEntry } from '../../../domain/own-entry.ts'
import { int, text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'
import { INT64_END, sliced } from './indexing.ts'
import { named } from './operands.ts'

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
    const both = node.concat([node.input(), elements], axis)
    const changed = (at: number) => at >= from && at < to && (at - from) % step === 0
    const positions = node.indices([size], (at) => (changed(at) ? size + (at - from) / step : at))
    return node.gather(both, positions, axis)
  }
  if (step !== 1) throw node.refuse('it changes every other element of a dynamic size; export it with a fixed size.')
  const before = start === 0 ? [] : [sliced(node, axis, 0, start, 1)]
  const after = end >= INT64_END ? [] : [sliced(node, axis, end, INT64_END, 1)]
  const parts = [...before, elements, ...after]
  return parts.length === 1 ? elements : node.concat(parts, axis)
}

/** Replaces the elements at one position of an axis. */
export const scatterIndex = (node: Lowering, elements: string, axis: number, at: number): string =>
  scatterSlice(node, node.unsqueeze(elements, [axis]), axis, at, at === -1 ? undefined : at + 1)

/** Replaces the slice that the node's arguments name. */
export const scatterBounds = (node: Lowering, elements: string): string => {
  const bound = (name: string) => (node.has(name) ? node.number(name) : undefined)
  const end = node.has('length') ? node.number('start') + node.number('length') : bound('end')
  return scatterSlice(node, elements, node.axis('dim', 0), bound('start'), end, node.number('step', 1))
}

const REDUCTIONS: Readonly<Record<string, string>> = {
  sum: 'add',
  add: 'add',
  prod: 'mul',
  multiply: 'mul',
  amax: 'max',
  amin: 'min',
}

/** The values to write: a number, or a source. If that is larger than the index, only a part of the index's size is used. */
const sourceOf = (node: Lowering, to: Shape): string => {
  if (!node.isTensor('src')) return node.expand(node.scalar(node.type(), node.number('value')), [], to)
  const larger = node.shape('src').flatMap((size, at) => (size === to[at] ? [] : [at]))
  if (larger.length === 0) return node.input('src')
  const [starts, ends] = [node.integers(larger.map(() => 0)), node.sizeList(larger.map((at) => to[at]!))]
  return node.emit('Slice', [node.input('src'), starts, ends, node.integers(larger)])
}

/** Writes values to positions along an axis. */
const scatter =
  (fixed?: string): Operator =>
  (node) => {
    const axis = node.axis('dim')
    const named = node.text('reduce', '')
    const reduction = fixed ?? (named === '' ? 'none' : ownEntry(REDUCTIONS, named))
    if (reduction === undefined || !node.flag('include_self', true)) {
      throw node.refuse(
        'it reduces in a way that ONNX does not support; use sum, prod, amax, or amin, with include_self.',
      )
    }
    const inputs = [node.input(), node.input('index'), sourceOf(node, node.shape('index'))]
    return node.emit('ScatterElements', inputs, { axis: int(axis), reduction: text(reduction) })
  }

/** index_add, index_copy, and index_fill: whole slices along an axis. */
const scatterSlices =
  (reduction: string): Operator =>
  (node) => {
    const axis = node.axis('dim')
    const to = node.shape().map((size, at) => (at === axis ? node.shape('index')[0]! : size))
    if (node.has('alpha') && node.number('alpha') !== 1) throw node.refuse('its alpha is not 1.')
    const places = node.reshape(
      node.input('index'),
      to.map((_, at) => (at === axis ? -1 : 1)),
    )
    const ones = to.map((size, at) => (at === axis ? size : 1))
    const values = node.has('source') ? node.input('source') : node.expand(node.operand('value', node.type()), [], to)
    const inputs = [node.input(), node.expand(places, ones, to), values]
    return node.emit('ScatterElements', inputs, { axis: int(axis), reduction: text(reduction) })
  }

export const SCATTERING: Readonly<Record<string, Operator>> = {
  select_scatter: (node) => {
    const axis = node.axis('dim')
    return scatterIndex(node, node.operand('src', node.type()), axis, node.number('index'))
  },
  slice_scatter: (node) => scatterBounds(node, node.operand('src', node.type())),
  ...named('scatter scatter_reduce', scatter()),
  scatter_add: scatter('add'),
  index_add: scatterSlices('add'),
  ...named('index_copy index_fill', scatterSlices('none')),
}
