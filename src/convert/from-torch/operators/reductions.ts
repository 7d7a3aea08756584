// Operators that reduce axes.
import { elementCount, int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { INT64_END } from './indexing.ts'
import { isFloat, named } from './operands.ts'

/** The nonnegative axes to reduce; all if none are named. */
const axesOf = (node: Lowering): number[] => {
  const axes = node.axes('dim', node.operator === 'linalg_matrix_norm' ? [-2, -1] : [])
  return axes.length === 0 ? [...node.shape().keys()] : axes
}

const over = (node: Lowering, type: string, value: string, keep = node.flag('keepdim')): string =>
  node.rank() === 0 ? value : node.emit(type, [value, node.integers(axesOf(node))], { keepdims: int(Number(keep)) })

const reduce =
  (type: string): Operator =>
  (node) =>
    over(node, type, node.operand('self', node.result().type))

/** max and min: over all elements, along an axis with positions, or of two tensors. */
const extreme =
  (reduction: string, position: string, elementwise: string): Operator =>
  (node) => {
    const to = node.result().type
    if (node.overload === 'other') return node.emit(elementwise, [node.operand('self', to), node.operand('other', to)])
    const value = over(node, reduction, node.input())
    return node.overload === 'dim' ? [value, positionOf(node, position)] : value
  }

const positionOf = (node: Lowering, type: string): string => {
  const keepdims = int(Number(node.flag('keepdim')))
  if (node.has('dim')) {
    return node.emit(type, [node.input()], { axis: int(node.axis('dim')), keepdims })
  }
  return node.squeeze(node.emit(type, [node.reshape(node.input(), [-1])], { axis: int(0), keepdims: int(1) }), [0])
}

/** Every element minus the one before it, n times. The difference of truth values is whether they differ. */
const diff: Operator = (node) => {
  const axis = node.axis('dim', -1)
  const to = node.result().type
  const parts = ['prepend', 'self', 'append'].filter((name) => name === 'self' || node.has(name))
  let value = node.concat(
    parts.map((name) => node.operand(name, to)),
    axis,
  )
  const part = (start: number, end: number) =>
    node.emit('Slice', [value, node.integers([start]), node.integers([end]), node.integers([axis])])
  for (let left = node.number('n', 1); left > 0; left--)
    value = node.emit(to === 'bool' ? 'Xor' : 'Sub', [part(1, INT64_END), part(0, -1)])
  return value
}

/** The variance with n - correction as the denominator. */
const varianceOf = (node: Lowering): string => {
  const shape = axesOf(node).map((axis) => node.shape()[axis]!)
  const fixed = shape.filter((size) => typeof size === 'number')
  const correction = node.has('correction') ? node.number('correction') : Number(node.flag('unbiased', true))
  const x = node.input()
  const centered = node.emit('Sub', [x, over(node, 'ReduceMean', x, true)])
  const mean = over(node, 'ReduceMean', node.emit('Mul', [centered, centered]))
  if (correction === 0) return mean
  if (fixed.length === shape.length) {
    const count = elementCount(fixed)
    return node.emit('Mul', [mean, node.scalar(node.type(), count / Math.max(0, count - correction))])
  }
  const whole = node.emit('ReduceProd', [node.sizeList(shape)], { keepdims: int(0) })
  const count = node.cast(whole, 'i64', node.type())
  const less = node.emit('Sub', [count, node.scalar(node.type(), correction)])
  return node.emit('Mul', [mean, node.emit('Div', [count, less])])
}

/** any and all, for which runtimes have no kernels. */
const logical =
  (type: string): Operator =>
  (node) =>
    node.cast(over(node, type, node.cast(node.operand('self', 'bool'), 'bool', 'f32')), 'f32', 'bool')

const norm: Operator = (node) => {
  const setting = node.has('ord') ? 'ord' : 'p'
  const isMatrix = node.operator === 'linalg_matrix_norm' || (node.has('ord') && node.numbers('dim', []).length === 2)
  if (
    node.text(setting, 'fro') !== 'fro' ||
    (isMatrix && !['linalg_vector_norm', 'norm'].includes(node.operator) && node.argument(setting)?.kind === 'numbers')
  ) {
    throw node.refuse('it is a norm of matrices other than the Frobenius norm.')
  }
  const order = node.argument(setting)?.kind === 'numbers' ? node.number(setting) : 2
  const x = node.input()
  if (order === 1) return over(node, 'ReduceL1', x)
  if (order === 2) return over(node, 'ReduceL2', x)
  if (order === Infinity) return over(node, 'ReduceMax', node.emit('Abs', [x]))
  if (order === -Infinity) return over(node, 'ReduceMin', node.emit('Abs', [x]))
  const type = node.type()
  const powers = node.emit('Pow', [node.emit('Abs', [x]), node.scalar(type, order)])
  return node.emit('Pow', [over(node, 'ReduceSum', powers), node.scalar(type, 1 / order)])
}

const topk: Operator = (node) =>
  node.emitSeveral('TopK', [node.input(), node.integers([node.number('k')])], 2, {
    axis: int(node.axis('dim', -1)),
    largest: int(Number(node.flag('largest', true))),
    sorted: int(Number(node.flag('sorted', true))),
  })

/** The k-th smallest element along an axis and its position; the median is the lower of two. */
const kth =
  (k: (node: Lowering, length: number) => number): Operator =>
  (node) => {
    const axis = node.axis('dim', -1)
    const [length] = node.fixed([node.shape()[axis] ?? 1], 'the size of the dimension')
    const place = k(node, length!)
    const smallest = node.emitSeveral('TopK', [node.input(), node.integers([place])], 2, {
      axis: int(axis),
      largest: int(0),
    })
    const keep = node.flag('keepdim')
    return smallest.map((value) =>
      node.gather(value, keep ? node.integers([place - 1]) : node.scalar('i64', place - 1), axis),
    )
  }

const sort: Operator = (node) => {
  const axis = node.axis('dim', -1)
  const length = node.sizeList([node.shape()[axis] ?? 1])
  return node.emitSeveral('TopK', [node.input(), length], 2, {
    axis: int(axis),
    largest: int(Number(node.flag('descending'))),
  })
}

export const REDUCTIONS: Readonly<Record<string, Operator>> = {
  mean: reduce('ReduceMean'),
  sum: reduce('ReduceSum'),
  prod: reduce('ReduceProd'),
  amax: reduce('ReduceMax'),
  amin: reduce('ReduceMin'),
  logsumexp: reduce('ReduceLogSumExp'),
  max: extreme('ReduceMax', 'ArgMax', 'Max'),
  min: extreme('ReduceMin', 'ArgMin', 'Min'),
  argmax: (node) => positionOf(node, 'ArgMax'),
  argmin: (node) => positionOf(node, 'ArgMin'),
  var: varianceOf,
  var_mean: (node) => [varianceOf(node), over(node, 'ReduceMean', node.input())],
  std_mean: (node) => [node.emit('Sqrt', [varianceOf(node)]), over(node, 'ReduceMean', node.input())],
  aminmax: (node) => [over(node, 'ReduceMin', node.input()), over(node, 'ReduceMax', node.input())],
  count_nonzero: (node) => over(node, 'ReduceSum', node.cast(node.operand('self', 'bool'), 'bool', 'i64')),
  std: (node) => node.emit('Sqrt', [varianceOf(node)]),
  any: logical('ReduceMax'),
  all: logical('ReduceMin'),
  ...named('norm linalg_norm linalg_vector_norm linalg_matrix_norm', norm),
  cumsum: (node) => {
    const to = node.result().type
    const through = isFloat(to) ? to : 'i64'
    const axis = node.scalar('i64', node.axis('dim'))
    return node.cast(node.emit('CumSum', [node.operand('self', through), axis]), through, to)
  },
  diff,
  topk,
  sort,
  argsort: (node) => [sort(node)].flat()[1]!,
  kthvalue: kth((node) => node.number('k')),
  median: kth((_, length) => Math.ceil(length / 2)),
}
