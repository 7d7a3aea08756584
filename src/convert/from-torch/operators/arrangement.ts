// Operators that arrange and make elements.
import type { DType } from '../../../tensors/weight-file.ts'
import { type Attribute, int, ints, text } from '../../onnx/model.ts'
import { scalarOf, tensorOf } from '../../onnx/tensors.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { flip, gather, index, narrow, roll, select, slice, split, unbind } from './selection.ts'

const same: Operator = (node) => {
  const name = node.has('self') ? 'self' : 'input'
  return node.cast(node.input(name), node.type(name), node.result().type)
}

const dropout: Operator = (node) => {
  if (node.flag('train')) node.scope.notes.add('Dropout is left out. The model was exported without model.eval().')
  return same(node)
}

const toResultShape: Operator = (node) => node.reshapeTo(node.input(), node.shape(), node.result().shape)

const permuted = (node: Lowering, order: readonly number[]): string =>
  order.every((axis, at) => axis === at) ? node.input() : node.emit('Transpose', [node.input()], { perm: ints(order) })

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

const expand: Operator = (node) => {
  const from = node.shape()
  const to = node.result().shape
  const lead = to.length - from.length
  // A size of 1 leaves what is there.
  const sizes = to.map((size, axis) => (axis >= lead && from[axis - lead] === size ? 1 : size))
  if (lead === 0 && sizes.every((size) => size === 1)) return node.input()
  return node.emit('Expand', [node.input(), node.shapeValue(sizes)])
}

const repeat: Operator = (node) => {
  const repeats = node.sizeArguments('repeats')
  const added = Array.from({ length: Math.max(0, repeats.length - node.shape().length) }, (_, axis) => axis)
  return node.emit('Tile', [node.unsqueeze(node.input(), added), node.sizeList(repeats)])
}

/** Every element several times in its place: a new axis, repeated, and merged again. */
const repeatInterleave: Operator = (node) => {
  const rank = node.shape().length
  const axis = node.axis('dim', rank)
  const tiles = Array.from({ length: rank + 1 }, (_, at) => (at === axis + 1 ? node.number('repeats') : 1))
  const tiled = node.emit('Tile', [node.unsqueeze(node.input(), [axis + 1]), node.integers(tiles)])
  return node.reshapeTo(tiled, [], node.result().shape)
}

const joined = (node: Lowering, name: string): string[] => {
  const to = node.result().type
  return node.tensors(name).flatMap((value, at) => {
    const meta = node.metas(name)[at]!
    // Empty vectors may stand beside tensors of any shape.
    const isEmpty = meta.shape.length === 1 && meta.shape[0] === 0
    return value === null || isEmpty ? [] : [node.cast(value, meta.type, to)]
  })
}

const cat: Operator = (node) =>
  node.emit('Concat', joined(node, 'tensors'), { axis: int(node.axis('dim', node.result().shape.length, 0)) })

const stack: Operator = (node) => {
  const axis = node.axis('dim', node.result().shape.length, 0)
  return node.emit(
    'Concat',
    joined(node, 'tensors').map((value) => node.unsqueeze(value, [axis])),
    { axis: int(axis) },
  )
}

/** A tensor with one value everywhere. */
const full =
  (value: number | string): Operator =>
  (node) => {
    const { type, shape } = node.result()
    const fill = tensorOf(type, [1], [typeof value === 'number' ? value : node.number(value)])
    return node.emit('ConstantOfShape', [node.shapeValue(shape)], { value: { kind: 'tensor', value: fill } })
  }

const arange: Operator = (node) => {
  const type: DType = node.result().type
  const bound = (name: string, absent: number): string => {
    const [size] = node.has(name) ? node.sizeArguments(name) : [absent]
    return typeof size === 'number'
      ? node.scalar(type, size)
      : node.cast(node.squeeze(node.sizeValue(size!), [0]), 'i64', type)
  }
  return node.emit('Range', [bound('start', 0), bound('end', 0), bound('step', 1)])
}

const triangle =
  (upper: number): Operator =>
  (node) =>
    node.emit('Trilu', [node.input(), node.scalar('i64', node.number('diagonal', 0))], { upper: int(upper) })

const PAD_MODES: Readonly<Record<string, string>> = { constant: 'constant', reflect: 'reflect', replicate: 'edge' }

/** torch names the pads of the last axis first. */
const pad =
  (fixedMode?: string): Operator =>
  (node) => {
    const mode = PAD_MODES[fixedMode ?? node.text('mode', 'constant')]
    if (mode === undefined)
      throw node.refuse(`its mode is '${node.text('mode', '')}'; use constant, reflect or replicate.`)
    const pads = node.numbers(fixedMode === undefined || node.has('pad') ? 'pad' : 'padding')
    const rank = node.shape().length
    const at = (axis: number, side: number) => pads[(rank - 1 - axis) * 2 + side] ?? 0
    const axes = node.shape().map((_, axis) => axis)
    const all = [...axes.map((axis) => at(axis, 0)), ...axes.map((axis) => at(axis, 1))]
    const inputs = [node.input(), node.integers(all)]
    const value = node.has('value') ? node.number('value') : 0
    if (mode === 'constant') inputs.push(node.scalar(node.type(), value))
    const attributes: Record<string, Attribute> = { mode: text(mode) }
    return node.emit('Pad', inputs, attributes)
  }

export const ARRANGEMENT: Readonly<Record<string, Operator>> = {
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
  view_as: toResultShape,
  reshape_as: toResultShape,
  flatten: toResultShape,
  unflatten: toResultShape,
  pixel_unshuffle: (node) => {
    // ONNX puts the block before the channels.
    const factor = node.number('downscale_factor')
    const deep = node.emit('SpaceToDepth', [node.input()], { blocksize: int(factor) })
    const [channels] = node.fixed(node.shape().slice(1, 2), 'the number of channels')
    const apart = node.reshape(deep, [0, factor * factor, channels ?? 1, -1])
    return node.reshapeTo(node.emit('Transpose', [apart], { perm: ints([0, 2, 1, 3]) }), [], node.result().shape)
  },
  pixel_shuffle: (node) =>
    node.emit('DepthToSpace', [node.input()], { blocksize: int(node.number('upscale_factor')), mode: text('CRD') }),
  permute: (node) => {
    const rank = node.shape().length
    return permuted(
      node,
      node.numbers('dims').map((axis) => node.fromFront(axis, rank)),
    )
  },
  transpose: transpose('dim0', 'dim1'),
  swapaxes: transpose('axis0', 'axis1'),
  t: (node) => (node.shape().length < 2 ? node.input() : swap(node, 0, 1)),
  numpy_T: (node) =>
    permuted(
      node,
      node.shape().map((_, axis) => node.shape().length - 1 - axis),
    ),
  mT: (node) => swap(node, node.shape().length - 2, node.shape().length - 1),
  movedim,
  squeeze,
  unsqueeze: (node) => node.unsqueeze(node.input(), [node.axis('dim', node.result().shape.length)]),
  expand,
  expand_as: expand,
  broadcast_to: expand,
  repeat,
  repeat_interleave: repeatInterleave,
  cat,
  concat: cat,
  stack,
  split,
  split_with_sizes: split,
  chunk: split,
  tensor_split: split,
  unbind,
  select: (node) => select(node, node.axis('dim', node.shape().length), node.sizeArguments('index')[0]!),
  slice,
  narrow,
  flip,
  roll,
  index,
  index_select: (node) =>
    node.emit('Gather', [node.input(), node.input('index')], { axis: int(node.axis('dim', node.shape().length)) }),
  gather,
  embedding: (node) => node.emit('Gather', [node.input('weight'), node.input('indices')], { axis: int(0) }),
  full: full('fill_value'),
  full_like: full('fill_value'),
  new_full: full('fill_value'),
  zeros: full(0),
  zeros_like: full(0),
  new_zeros: full(0),
  ones: full(1),
  ones_like: full(1),
  new_ones: full(1),
  scalar_tensor: (node) => node.scope.builder.constant('scalar', scalarOf(node.result().type, node.number('s'))),
  arange,
  tril: triangle(0),
  triu: triangle(1),
  pad: pad(),
  constant_pad_nd: pad('constant'),
  reflection_pad1d: pad('reflect'),
  reflection_pad2d: pad('reflect'),
  replication_pad1d: pad('replicate'),
  replication_pad2d: pad('replicate'),
}
