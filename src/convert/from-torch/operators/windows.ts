// Moves windows and blocks of images between axes.
import { int, ints, text } from '../../onnx/model.ts'
import type { Operator } from '../lowering.ts'

/** Windows along an axis; their elements become the last axis of the result. */
const unfold: Operator = (node) => {
  const rank = node.rank()
  const axis = node.axis('dimension')
  const [size, step] = [node.number('size'), node.number('step')]
  const [count] = node.fixed([node.result().shape[axis]!], 'the number of windows')
  const places = node.indices([count!, size], (at) => Math.floor(at / size) * step + (at % size))
  const windows = node.gather(node.input(), places, axis)
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
    return node.gather(value, places, axis)
  }
  // [batch, channels, kernel rows, rows, kernel columns, columns]
  const all = along(along(padded, 0, 2), 1, 4)
  return node.reshapeTo(node.transpose(all, [0, 1, 2, 4, 3, 5]), [], node.result().shape)
}

const channelShuffle: Operator = (node) => {
  const shape = node.shape()
  const groups = node.number('groups')
  const [channels] = node.fixed(shape.slice(1, 2), 'the number of channels')
  const apart = [shape[0]!, groups, channels! / groups, ...shape.slice(2)]
  const swapped = node.swap(node.reshapeTo(node.input(), [shape[0]!], apart), apart.length, 1, 2)
  return node.reshapeTo(swapped, [shape[0]!], shape)
}

export const WINDOWS: Readonly<Record<string, Operator>> = {
  pixel_unshuffle: (node) => {
    // ONNX puts the block before the channels.
    const factor = node.number('downscale_factor')
    const deep = node.emit('SpaceToDepth', [node.input()], { blocksize: int(factor) })
    const [channels] = node.fixed(node.shape().slice(1, 2), 'the number of channels')
    const apart = node.reshape(deep, [0, factor * factor, channels ?? 1, -1])
    return node.reshapeTo(node.transpose(apart, [0, 2, 1, 3]), [], node.result().shape)
  },
  pixel_shuffle: (node) =>
    node.emit('DepthToSpace', [node.input()], { blocksize: int(node.number('upscale_factor')), mode: text('CRD') }),
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
}
