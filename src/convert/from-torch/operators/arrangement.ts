import { int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'
import { named } from './operands.ts'
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

const swap = (node: Lowering, first: number, second: number): string =>
  node.swap(node.input(), node.rank(), first, second)

const transpose =
  (first: string, second: string): Operator =>
  (node) =>
    swap(node, node.axis(first), node.axis(second))

const movedim: Operator = (node) => {
  const [from, to] = [node.axes('source'), node.axes('destination')]
  const rest = node.shape().flatMap((_, axis) => (from.includes(axis) ? [] : [axis]))
  const order = node.shape().map((_, axis) => {
    const at = to.indexOf(axis)
    return at >= 0 ? from[at]! : rest.shift()!
  })
  return permuted(node, order)
}

const squeeze: Operator = (node) => {
  const shape = node.shape()
  const axes = node.axes('dim', [...shape.keys()]).filter((axis) => shape[axis] === 1)
  return node.squeeze(node.input(), axes)
}

const expand: Operator = (node) => node.expand(node.input(), node.shape(), node.result().shape)

/** The second tensor in the shape and type of the first. */
const copy: Operator = (node) =>
  node.expand(node.operand('src', node.result().type), node.shape('src'), node.result().shape)

const repeat: Operator = (node) => {
  const given = node.sizeArguments(node.has('repeats') ? 'repeats' : 'dims')
  const missing = Math.max(0, node.rank() - given.length)
  const repeats = [...new Array<number>(missing).fill(1), ...given]
  const added = Array.from({ length: Math.max(0, repeats.length - node.rank()) }, (_, axis) => axis)
  return node.emit('Tile', [node.unsqueeze(node.input(), added), node.sizeList(repeats)])
}

/** Repeats every element: adds an axis, repeats along it, and merges it. */
const repeatInterleave: Operator = (node) => {
  const isFlat = !node.has('dim')
  const rank = isFlat ? 1 : node.rank()
  const value = isFlat ? node.reshape(node.input(), [-1]) : node.input()
  const axis = isFlat ? 0 : node.axis('dim')
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

const cat: Operator = (node) => node.concat(joined(node), node.axis('dim', 0, node.result().shape.length))

/** hstack and vstack join along this axis if tensors have two or more axes. */
const joinedAlong =
  (axis: number): Operator =>
  (node) => {
    const isFlat = node.metas('tensors').every((meta) => meta?.shape.length === 1)
    const parts = joined(node).map((value) => (isFlat && axis === 0 ? node.unsqueeze(value, [0]) : value))
    return node.concat(parts, isFlat ? 0 : axis)
  }

const stack: Operator = (node) => {
  const axis = node.axis('dim', 0, node.result().shape.length)
  const parts = joined(node).map((value) => node.unsqueeze(value, [axis]))
  return node.concat(parts, axis)
}

const triangle =
  (upper: number): Operator =>
  (node) =>
    node.emit('Trilu', [node.input(), node.scalar('i64', node.number('diagonal', 0))], { upper: int(upper) })

export const ARRANGEMENT: Readonly<Record<string, Operator>> = {
  ...SELECTION,
  ...WINDOWS,
  ...named('alias clone contiguous detach lift_fresh_copy to _to_copy type_as positive', same),
  ...named('dropout alpha_dropout feature_dropout feature_alpha_dropout native_dropout', dropout),
  ...named('view reshape _unsafe_view atleast_2d view_as reshape_as flatten ravel unflatten', toResultShape),
  as_strided: asStrided,
  permute: (node) => permuted(node, node.axes('dims')),
  ...named('transpose swapdims', transpose('dim0', 'dim1')),
  swapaxes: transpose('axis0', 'axis1'),
  t: (node) => (node.rank() < 2 ? node.input() : swap(node, 0, 1)),
  numpy_T: (node) => permuted(node, [...node.shape().keys()].reverse()),
  mT: (node) => swap(node, node.rank() - 2, node.rank() - 1),
  ...named('movedim moveaxis', movedim),
  squeeze,
  unsqueeze: (node) => node.unsqueeze(node.input(), [node.axis('dim', undefined, node.result().shape.length)]),
  ...named('expand expand_as broadcast_to', expand),
  ...named('repeat tile', repeat),
  copy,
  repeat_interleave: repeatInterleave,
  ...named('cat concat', cat),
  hstack: joinedAlong(1),
  vstack: joinedAlong(0),
  stack,
  tril: triangle(0),
  triu: triangle(1),
}
