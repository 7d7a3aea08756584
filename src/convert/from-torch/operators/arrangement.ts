import { int, ints, text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'
import {
  flip,
  gather,
  index,
  indexPut,
  narrow,
  roll,
  scatter,
  scatterSlice,
  scatterSlices,
  select,
  slice,
  split,
  unbind,
} from './selection.ts'

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

/** Other strides, as decompositions write them, where they name the same elements in the same order. */
const asStrided: Operator = (node) => {
  const moved = (shape: Shape) => shape.filter((size) => size !== 1)
  const isSame = node.isContiguous() && node.isContiguous(node.resultNames()[0]!, true)
  if (
    !isSame ||
    `${moved(node.shape())}` !== `${moved(node.result().shape)}` ||
    node.number('storage_offset', 0) !== 0
  ) {
    throw node.refuse('it reads elements by their places in memory; use view, select or unfold.')
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

/** The second tensor, in the shape and type of the first. */
const copy: Operator = (node) =>
  node.expand(node.operand('src', node.result().type), node.shape('src'), node.result().shape)

const repeat: Operator = (node) => {
  const given = node.sizeArguments(node.has('repeats') ? 'repeats' : 'dims')
  const missing = Math.max(0, node.shape().length - given.length)
  const repeats = [...new Array<number>(missing).fill(1), ...given]
  const added = Array.from({ length: Math.max(0, repeats.length - node.shape().length) }, (_, axis) => axis)
  return node.emit('Tile', [node.unsqueeze(node.input(), added), node.sizeList(repeats)])
}

/** Every element several times in its place: a new axis, repeated, and merged again. */
const repeatInterleave: Operator = (node) => {
  const isFlat = !node.has('dim')
  const rank = isFlat ? 1 : node.shape().length
  const value = isFlat ? node.reshape(node.input(), [-1]) : node.input()
  const axis = isFlat ? 0 : node.axis('dim', rank)
  return node.reshapeTo(node.repeated(value, rank, axis, node.number('repeats')), [], node.result().shape)
}

/** Windows along an axis, whose elements are the last axis of the result. */
const unfold: Operator = (node) => {
  const rank = node.shape().length
  const axis = node.axis('dimension', rank)
  const [size, step] = [node.number('size'), node.number('step')]
  const [count] = node.fixed([node.result().shape[axis]!], 'the number of windows')
  const places = node.indices([count!, size], (at) => Math.floor(at / size) * step + (at % size))
  const windows = node.emit('Gather', [node.input(), places], { axis: int(axis) })
  const axes = Array.from({ length: rank + 1 }, (_, at) => at).filter((at) => at !== axis + 1)
  return node.transpose(windows, [...axes, axis + 1])
}

/** Windows of an image as columns [batch, channels · window, windows]. */
const im2col: Operator = (node) => {
  const [kernel, dilation, padding, stride] = ['kernel_size', 'dilation', 'padding', 'stride'].map((name) =>
    node.numbers(name),
  ) as [readonly number[], readonly number[], readonly number[], readonly number[]]
  const pads = node.integers([0, 0, ...padding, 0, 0, ...padding])
  const padded = padding.every((size) => size === 0) ? node.input() : node.emit('Pad', [node.input(), pads])
  const windows = node
    .fixed(node.shape().slice(-2), 'the size of its images')
    .map((size, at) => Math.floor((size + 2 * padding[at]! - dilation[at]! * (kernel[at]! - 1) - 1) / stride[at]!) + 1)
  const along = (value: string, at: number, axis: number): string => {
    const places = node.indices(
      [kernel[at]!, windows[at]!],
      (place) => Math.floor(place / windows[at]!) * dilation[at]! + (place % windows[at]!) * stride[at]!,
    )
    return node.emit('Gather', [value, places], { axis: int(axis) })
  }
  // [batch, channels, kernel rows, rows, kernel columns, columns]
  const all = along(along(padded, 0, 2), 1, 4)
  return node.reshapeTo(node.transpose(all, [0, 1, 2, 4, 3, 5]), [], node.result().shape)
}

/** Bags of one length: the indices [bags, length], which torch flattens and counts off by a range. */
const embeddingBag: Operator = (node) => {
  const reduction = ['ReduceSum', 'ReduceMean', 'ReduceMax'][node.number('mode', 0)]
  const range = node.madeBy('offsets')
  const hasPadding = node.has('padding_idx') && node.number('padding_idx') >= 0
  if (range?.operator !== 'arange' || reduction === undefined || hasPadding) {
    throw node.refuse(
      'its bags are given by offsets, or leave out padding; give it indices [bags, length], without padding_idx.',
    )
  }
  const bags = node.reshape(node.input('indices'), [-1, range.number('step', 1)])
  const rows = node.emit('Gather', [node.input('weight'), bags])
  const weights =
    node.has('per_sample_weights') && node.reshape(node.input('per_sample_weights'), [-1, range.number('step', 1), 1])
  const scaled = weights ? node.emit('Mul', [rows, weights]) : rows
  return node.emit(reduction, [scaled, node.integers([1])], { keepdims: int(0) })
}

const channelShuffle: Operator = (node) => {
  const shape = node.shape()
  const groups = node.number('groups')
  const [channels] = node.fixed(shape.slice(1, 2), 'the number of channels')
  const apart = [shape[0]!, groups, channels! / groups, ...shape.slice(2)]
  const order = apart.map((_, axis) => (axis === 1 ? 2 : axis === 2 ? 1 : axis))
  return node.reshapeTo(node.transpose(node.reshapeTo(node.input(), [shape[0]!], apart), order), [shape[0]!], shape)
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

/** hstack and vstack: along this axis of tensors with two or more axes. */
const joinedAlong =
  (axis: number): Operator =>
  (node) => {
    const isFlat = node.metas('tensors').every((meta) => meta?.shape.length === 1)
    const parts = joined(node, 'tensors').map((value) => (isFlat && axis === 0 ? node.unsqueeze(value, [0]) : value))
    return node.emit('Concat', parts, { axis: int(isFlat ? 0 : axis) })
  }

const stack: Operator = (node) => {
  const axis = node.axis('dim', node.result().shape.length, 0)
  return node.emit(
    'Concat',
    joined(node, 'tensors').map((value) => node.unsqueeze(value, [axis])),
    { axis: int(axis) },
  )
}

const triangle =
  (upper: number): Operator =>
  (node) =>
    node.emit('Trilu', [node.input(), node.scalar('i64', node.number('diagonal', 0))], { upper: int(upper) })

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
  atleast_2d: toResultShape,
  as_strided: asStrided,
  view_as: toResultShape,
  reshape_as: toResultShape,
  flatten: toResultShape,
  ravel: toResultShape,
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
  unfold,
  im2col,
  col2im: (node) => {
    const attributes = { dilations: 'dilation', strides: 'stride' }
    const pads = node.numbers('padding')
    const sizes = ['output_size', 'kernel_size'].map((name) => node.integers(node.numbers(name)))
    return node.emit('Col2Im', [node.input(), ...sizes], {
      ...Object.fromEntries(Object.entries(attributes).map(([name, from]) => [name, ints(node.numbers(from))])),
      pads: ints([...pads, ...pads]),
    })
  },
  channel_shuffle: channelShuffle,
  copy,
  repeat_interleave: repeatInterleave,
  cat,
  concat: cat,
  hstack: joinedAlong(1),
  vstack: joinedAlong(0),
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
  index_put: indexPut,
  _unsafe_index: index,
  _unsafe_index_put: indexPut,
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
  take: (node) => node.emit('Gather', [node.reshape(node.input(), [-1]), node.input('index')]),
  gather,
  take_along_dim: gather,
  embedding_bag: embeddingBag,
  _embedding_bag: embeddingBag,
  embedding: (node) => node.emit('Gather', [node.input('weight'), node.input('indices')], { axis: int(0) }),
  tril: triangle(0),
  triu: triangle(1),
}
