// Operators that create tensors.
import type { DType } from '../../../tensors/weight-file.ts'
import { scalarOf } from '../../onnx/tensors.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { named } from './operands.ts'

/** A tensor with one value everywhere. */
const full =
  (value: number | string): Operator =>
  (node) => {
    const { type, shape } = node.result()
    return node.everywhere(shape, type, typeof value === 'number' ? value : node.number(value))
  }

/** Types supported by Range. */
const RANGES: readonly DType[] = ['f32', 'f64', 'i16', 'i32', 'i64']

const arange: Operator = (node) => {
  const to = node.result().type
  const type: DType = RANGES.includes(to) ? to : 'i64'
  const bound = (name: string, absent: number): string => {
    const [size] = node.has(name) ? node.sizeArguments(name) : [absent]
    return typeof size === 'number'
      ? node.scalar(type, size)
      : node.cast(node.squeeze(node.sizeValue(size!), [0]), 'i64', type)
  }
  return node.cast(node.emit('Range', [bound('start', 0), bound('end', 0), bound('step', 1)]), type, to)
}

/** A constant whose elements are computed from their positions. */
const computed =
  (at: (node: Lowering, place: number) => number): Operator =>
  (node) => {
    const { type, shape } = node.result()
    const fixed = node.fixed(shape, 'its size')
    const values = Array.from({ length: node.constantSize(fixed) }, (_, place) => at(node, place))
    return node.constant(type, fixed, values)
  }

const linspace = computed((node, place) => {
  const [start, end, steps] = [node.number('start'), node.number('end'), node.number('steps')]
  return steps === 1 ? start : start + ((end - start) * place) / (steps - 1)
})

const eye = computed((node, place) => {
  const columns = Number(node.result().shape[1])
  return Number(Math.floor(place / columns) === place % columns)
})

/** Each tensor on its own axis, repeated along the axes of the others. */
const meshgrid: Operator = (node) => {
  const isSwapped = node.text('indexing', 'ij') === 'xy'
  return node.tensors('tensors').map((value, at) => {
    const axis = isSwapped && at < 2 ? 1 - at : at
    const to = node.result(at).shape
    const own = to.map((size, each) => (each === axis ? size : 1))
    const apart = to.map((_, each) => (each === axis ? -1 : 1))
    return node.expand(node.reshape(value!, apart), own, to)
  })
}

/** 1 where the position on the added axis equals the index. */
const oneHot: Operator = (node) => {
  const [classes] = node.fixed(node.result().shape.slice(-1), 'the number of classes')
  const indices = node.cast(node.input(), node.type(), 'i64')
  const every = node.indices([classes!], (at) => at)
  const hot = node.emit('Equal', [node.unsqueeze(indices, [node.rank()]), every])
  return node.cast(hot, 'bool', node.result().type)
}

export const CREATION: Readonly<Record<string, Operator>> = {
  ...named('full full_like new_full', full('fill_value')),
  ...named('zero zeros zeros_like new_zeros empty empty_like empty_permuted new_empty', full(0)),
  ...named('ones ones_like new_ones', full(1)),
  scalar_tensor: (node) => node.scope.builder.constant('scalar', scalarOf(node.result().type, node.number('s'))),
  arange,
  meshgrid,
  one_hot: oneHot,
  linspace,
  eye,
  fill: (node) =>
    node.isTensor('value')
      ? node.expand(node.operand('value', node.type()), [], node.result().shape)
      : full('value')(node),
}
