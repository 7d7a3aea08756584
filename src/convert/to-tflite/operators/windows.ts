// Convolutions, and the table of operators that slide a window over an image or rearrange it.
import { badRequest } from '../../../domain/errors.ts'
import { type Constant, transposeConstant } from '../../onnx/constants.ts'
import { convTransposeWindow, convWindow, type Window } from '../../onnx/window-shapes.ts'
import { arrange, channelsLast, type Lower, type Lowering, plainOrder, reshape } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic } from './arithmetic.ts'
import { defineImage, image, overTwo, padImage, VALID } from './images.ts'
import { globalPool, pool } from './pooling.ts'
import { concat, slice } from './slices.ts'

const biasOf = (node: Lowering, channels: number): Tensor =>
  node.has(2) ? node.value(2) : node.graph.vector('f32', new Float32Array(channels))

const conv: Lower = (node) => {
  const window = overTwo(convWindow(node))
  const groups = node.int('group', 1)
  const source = image(node)
  const channels = source.shape[3]!
  const [outputs, inner] = node.input(1).shape as [number, number]
  const { x, padding } = padImage(node.graph, source, window, 0)
  const shape = [source.shape[0]!, ...window.output, outputs]
  const depthwise = groups > 1 && groups === channels && inner === 1
  const weights = node.value(1, depthwise ? [1, ...spatial(node), 0] : [0, ...spatial(node), 1])
  const [first, last] = [weights.shape[0]!, weights.shape.at(-1)!]
  const filter = reshape(node.graph, weights, [first, ...window.kernel, last])
  const [strideH, strideW] = window.strides as [number, number]
  const [dilationH, dilationW] = window.dilations as [number, number]
  const options = { padding, strideH, strideW, activation: 0, dilationH, dilationW }
  const inputs = [x, filter, biasOf(node, outputs)]
  const result = depthwise
    ? node.graph.operator('DEPTHWISE_CONV_2D', inputs, { shape }, { ...options, depthMultiplier: outputs / channels })
    : node.graph.operator('CONV_2D', inputs, { shape }, options)
  defineImage(node, result)
}

/** The window axes of the weights. */
const spatial = (node: Lowering): number[] => plainOrder(node.input(1).shape.length).slice(2)

/** Inserts zeros between the kernel's elements, because TFLite has no dilated transposed convolution. */
export const dilated = (kernel: Constant, dilations: readonly number[]): Constant => {
  const [first, height, width, last] = kernel.shape as [number, number, number, number]
  const [tall, wide] = [(height - 1) * dilations[0]! + 1, (width - 1) * dilations[1]! + 1]
  const values = new Float64Array(first * tall * wide * last)
  for (let from = 0; from < kernel.values.length; from++) {
    const [channel, column] = [from % last, Math.floor(from / last) % width]
    const row = Math.floor(from / (last * width)) % height
    const block = Math.floor(from / (last * width * height))
    values[((block * tall + row * dilations[0]!) * wide + column * dilations[1]!) * last + channel] =
      kernel.values[from]!
  }
  return { type: kernel.type, shape: [first, tall, wide, last], values }
}

/** Kernels [out, height, width, in] per group. Computed kernels have one group and no dilation. */
const transposedKernels = (node: Lowering, window: Window): Tensor[] => {
  const groups = node.int('group', 1)
  const channels = node.input(1).shape[0]!
  const order = [1, ...spatial(node), 0]
  if (!node.isConstant(1) && groups === 1 && window.dilations.every((step) => step === 1)) {
    const weights = node.value(1, order)
    return [reshape(node.graph, weights, [weights.shape[0]!, ...window.kernel, channels])]
  }
  const constant = transposeConstant(node.weights(1, 'weights'), order)
  const kernel = dilated({ ...constant, shape: [constant.shape[0]!, ...window.kernel, channels] }, window.dilations)
  const part = channels / groups
  const shape = [...kernel.shape.slice(0, 3), part]
  return Array.from({ length: groups }, (_, group) => {
    const place = (at: number) => Math.floor(at / part) * channels + group * part + (at % part)
    const values = Float64Array.from({ length: kernel.values.length / groups }, (_, at) => kernel.values[place(at)]!)
    return node.graph.constant('f32', shape, values)
  })
}

const convTranspose: Lower = (node) => {
  const { graph } = node
  const window = overTwo(convTransposeWindow(node))
  const source = image(node)
  const [batch, height, width, channels] = source.shape as [number, number, number, number]
  const kernels = transposedKernels(node, window)
  const groups = kernels.length
  const extent = kernels[0]!.shape.slice(1, 3)
  const full = [height, width].map((size, at) => (size - 1) * window.strides[at]! + extent[at]!)
  const [strideH, strideW] = window.strides as [number, number]
  const options = { padding: VALID, strideH, strideW, activation: 0 }
  const parts = kernels.map((weights, group) => {
    const part = channels / groups
    const x = slice(graph, source, [0, 0, 0, group * part], [batch, height, width, part])
    const shape = [batch, ...full, weights.shape[0]!]
    return graph.operator('TRANSPOSE_CONV', [graph.vector('i32', shape), weights, x], { shape, type: x.type }, options)
  })
  const joined = groups === 1 ? parts[0]! : concat(graph, parts, 3)
  // The padding before is cut off; elements that output_padding adds at the end are zero.
  const missing = window.output.map((size, at) => Math.max(0, window.before[at]! + size - full[at]!))
  const shape = [batch, full[0]! + missing[0]!, full[1]! + missing[1]!, joined.shape[3]!]
  const pads = node.graph.constant('i32', [4, 2], [0, 0, 0, missing[0]!, 0, missing[1]!, 0, 0])
  const padded = missing.some((count) => count > 0) ? graph.operator('PAD', [joined, pads], { shape }) : joined
  const begin = [0, ...window.before, 0]
  const cut = slice(graph, padded, begin, [batch, ...window.output, joined.shape[3]!])
  defineImage(node, node.has(2) ? arithmetic(graph).add(cut, node.value(2)) : cut)
}

/** Moves channels to image positions or back. */
const rearranged =
  (name: 'DEPTH_TO_SPACE' | 'SPACE_TO_DEPTH'): Lower =>
  (node) => {
    const { graph } = node
    const blockSize = node.int('blocksize', 1)
    const isByPosition = node.text('mode', 'DCR') === 'DCR'
    if (name === 'SPACE_TO_DEPTH' && !isByPosition) throw badRequest('Only the mode DCR is supported.')
    const order = channelsLast(4)
    const shape = arrange(node.result().shape, order)
    let x = node.value(0, order)
    if (!isByPosition) {
      // CRD: depth is ordered by channel, not by position in the block.
      const [channels, places] = [shape[3]!, blockSize ** 2]
      const place = (to: number) => (to % channels) * places + Math.floor(to / channels)
      const from = Array.from({ length: channels * places }, (_, to) => place(to))
      x = graph.operator('GATHER', [x, graph.vector('i32', from)], {}, { axis: 3 })
    }
    node.define(graph.operator(name, [x], { shape }, { blockSize }), order)
  }

export const WINDOWS: Readonly<Record<string, Lower>> = {
  AveragePool: pool('mean'),
  Conv: conv,
  ConvTranspose: convTranspose,
  DepthToSpace: rearranged('DEPTH_TO_SPACE'),
  GlobalAveragePool: globalPool('MEAN'),
  GlobalMaxPool: globalPool('REDUCE_MAX'),
  MaxPool: pool('max'),
  SpaceToDepth: rearranged('SPACE_TO_DEPTH'),
}
