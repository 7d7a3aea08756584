import { int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'
import { SELECTION } from './selection.ts'
import { WINDOWS } from './windows.ts'

const same: Operator = (node) => {
  const name = node.has('self') ? 'self' : 'input'
  return node.cast(node.input(name), node.type(name), node.result().type)
}

const dropout: Operator = (node) => {
  if (node.flag('train')) node.scope.notes.add('Dropout is left out. The model was exported without model.eval().')
  return same(node)
}

const toResultShape: Operator = (node) => {
  if (node.type() !== node.result().type) throw node.refuse('it reads the bits of its input as another type.')
  return node.reshapeTo(node.input(), node.shape(), node.result().shape)
}

/** Other strides, as written by decompositions, if they address the same elements in the same order. */
const asStrided: Operator = (node) => {
  const moved = (shape: Shape) => shape.filter((size) => size !== 1)
  const isSame = node.isContiguous() && node.isContiguous(node.resultNames()[0]!, true)
  if (
    !isSame ||
    `${moved(node.shape())}` !== `${moved(node.result().shape)}` ||
    node.number('storage_offset', 0) !== 0
  ) {
    throw node.refuse('it reads elements by their places in memory; use view, select, or unfold.')
  }
  return toResultShape(node)
}

const permuted = (node: Lowering, order: readonly number[]): string => node.transpose(node.input(), order)

const swap = (node: Lowering, first: number, second: number): string => {
  const order = node.shape().map((_, axis) => (axis === first ? second : axis === second ? first : axis))
  return permuted(node, order)
}

const transpose =
  (first: string, second: string): Operator =>
  (node) => {
    const rank = node.shape().length
    return swap(node, node.axis(first, rank), node.axis(second, rank))
  }

const movedim: Operator = (node) => {
  const rank = node.shape().length
  const from = node.numbers('source').map((axis) => node.fromFront(axis, rank))
  const to = node.numbers('destination').map((axis) => node.fromFront(axis, rank))
  const rest = node.shape().flatMap((_, axis) => (from.includes(axis) ? [] : [axis]))
  const order = node.shape().map((_, axis) => {
    const at = to.indexOf(axis)
    return at >= 0 ? from[at]! : rest.shift()!
  })
  return permuted(node, order)
}

const squeeze: Operator = (node) => {
  const shape = node.shape()
  const named = node.has('dim')
    ? node.numbers('dim').map((axis) => node.fromFront(axis, shape.length))
    : shape.map((_, axis) => axis)
  return node.squeeze(
    node.input(),
    named.filter((axis) => shape[axis] === 1),
  )
}

const expand: Operator = (node) => node.expand(node.input(), node.shape(), node.result().shape)

/** The second tensor in the shape and type of the first. */
const copy: Operator = (node) =>
  node.expand(node.operand('src', node.result().type), node.shape('src'), node.result().shape)

const repeat: Operator = (node) => {
  const given = node.sizeArguments(node.has('repeats') ? 'repeats' : 'dims')
  const missing = Math.max(0, node.shape().length - given.length)
  const repeats = [...new Array<number>(missing).fill(1), ...given]
  const added = Array.from({ length: Math.max(0, repeats.length - node.shape().length) }, (_, axis) => axis)
  return node.emit('Tile', [node.unsqueeze(node.input(), added), node.sizeList(repeats)])
}

/** Repeats every element: adds an axis, repeats along it, and merges it. */
const repeatInterleave: Operator = (node) => {
  const isFlat = !node.has('dim')
  const rank = isFlat ? 1 : node.shape().length
  const value = isFlat ? node.reshape(node.input(), [-1]) : node.input()
  const axis = isFlat ? 0 : node.axis('dim', rank)
  return node.reshapeTo(node.repeated(value, rank, axis, node.number('repeats')), [], node.result().shape)
}

const joined = (node: Lowering): string[] => {
  const to = node.result().type
  return node.tensors('tensors').flatMap((value, at) => {
    const meta = node.metas('tensors')[at]!
    // Empty vectors may be combined with tensors of any shape.
    const isEmpty = meta.shape.length === 1 && meta.shape[0] === 0
    return value === null || isEmpty ? [] : [node.cast(value, meta.type, to)]
  })
}

const cat: Operator = (node) =>
  node.emit('Concat', joined(node), { axis: int(node.axis('dim', node.result().shape.length, 0)) })

/** hstack and vstack join along this axis if tensors have two or more axes. */
const joinedAlong =
  (axis: number): Operator =>
  (node) => {
    const isFlat = node.metas('tensors').every((meta) => meta?.shape.length === 1)
    const parts = joined(node).map((value) => (isFlat && axis === 0 ? node.unsqueeze(value, [0]) : value))
    return node.emit('Concat', parts, { axis: int(isFlat ? 0 : axis) })
  }

const stack: Operator = (node) => {
  const axis = node.axis('dim', node.result().shape.length, 0)
  return node.emit(
    'Concat',
    joined(node).map((value) => node.unsqueeze(value, [axis])),
    { axis: int(axis) },
  )
}

const triangle =
  (upper: number): Operator =>
  (node) =>
    node.emit('Trilu', [node.input(), node.scalar('i64', node.number('diagonal', 0))], { upper: int(upper) })

export const ARRANGEMENT: Readonly<Record<string, Operator>> = {
  ...SELECTION,
  ...WINDOWS,
  ...Object.fromEntries(
    ['alias', 'clone', 'contiguous', 'detach', 'lift_fresh_copy', 'to', '_to_copy', 'type_as', 'positive'].map(
      (name) => [name, same],
    ),
  ),
  ...Object.fromEntries(
    ['dropout', 'alpha_dropout', 'feature_dropout', 'feature_alpha_dropout', 'native_dropout'].map((name) => [
      name,
      dropout,
    ]),
  ),
  view: toResultShape,
  reshape: toResultShape,
  _unsafe_view: toResultShape,
  atleast_2d: toResultShape,
  as_strided: asStrided,
  view_as: toResultShape,
  reshape_as: toResultShape,
  flatten: toResultShape,
  ravel: toResultShape,
  unflatten: toResultShape,
  permute: (node) => {
    const rank = node.shape().length
    return permuted(
      node,
      node.numbers('dims').map((axis) => node.fromFront(axis, rank)),
    )
  },
  transpose: transpose('dim0', 'dim1'),
  swapaxes: transpose('axis0', 'axis1'),
  swapdims: transpose('dim0', 'dim1'),
  t: (node) => (node.shape().length < 2 ? node.input() : swap(node, 0, 1)),
  numpy_T: (node) =>
    permuted(
      node,
      node.shape().map((_, axis) => node.shape().length - 1 - axis),
    ),
  mT: (node) => swap(node, node.shape().length - 2, node.shape().length - 1),
  movedim,
  moveaxis: movedim,
  squeeze,
  unsqueeze: (node) => node.unsqueeze(node.input(), [node.axis('dim', node.result().shape.length)]),
  expand,
  expand_as: expand,
  broadcast_to: expand,
  repeat,
  tile: repeat,
  copy,
  repeat_interleave: repeatInterleave,
  cat,
  concat: cat,
  hstack: joinedAlong(1),
  vstack: joinedAlong(0),
  stack,
  tril: triangle(0),
  triu: triangle(1),
}
