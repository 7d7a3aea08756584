// Operators that create tensors.
import type { DType } from '../../../tensors/weight-file.ts'
import { scalarOf, tensorOf } from '../../onnx/tensors.ts'
import type { Lowering, Operator } from '../lowering.ts'

/** A tensor with one value everywhere. */
const full =
  (value: number | string): Operator =>
  (node) => {
    const { type, shape } = node.result()
    const fill = tensorOf(type, [1], [typeof value === 'number' ? value : node.number(value)])
    return node.emit('ConstantOfShape', [node.shapeValue(shape)], { value: { kind: 'tensor', value: fill } })
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
    return node.constant(
      type,
      fixed,
      Array.from({ length: node.constantSize(fixed) }, (_, place) => at(node, place)),
    )
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
    return node.expand(
      node.reshape(
        value!,
        own.map((_, each) => (each === axis ? -1 : 1)),
      ),
      own,
      to,
    )
  })
}

/** 1 where the position on the added axis equals the index. */
const oneHot: Operator = (node) => {
  const [classes] = node.fixed(node.result().shape.slice(-1), 'the number of classes')
  const indices = node.cast(node.input(), node.type(), 'i64')
  const every = node.indices([classes!], (at) => at)
  const hot = node.emit('Equal', [node.unsqueeze(indices, [node.shape().length]), every])
  return node.cast(hot, 'bool', node.result().type)
}

export const CREATION: Readonly<Record<string, Operator>> = {
  full: full('fill_value'),
  full_like: full('fill_value'),
  new_full: full('fill_value'),
  zeros: full(0),
  zeros_like: full(0),
  new_zeros: full(0),
  ...Object.fromEntries(['empty', 'empty_like', 'empty_permuted', 'new_empty'].map((name) => [name, full(0)])),
  ones: full(1),
  ones_like: full(1),
  new_ones: full(1),
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
  zero: full(0),
}
