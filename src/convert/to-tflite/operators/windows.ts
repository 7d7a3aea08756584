// Convolutions and pools, which TFLite computes over [batch, height, width, channels].
import { badRequest } from '../../../domain/errors.ts'
import { type Constant, transposeConstant } from '../../onnx/constants.ts'
import { convTransposeWindow, convWindow, poolWindow, type Window } from '../../onnx/window-shapes.ts'
import { channelsLast, type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic } from './elementwise.ts'

const SAME = 0
const VALID = 1

/** A window over one dimension is one over two, of which the first is 1. */
const overTwo = (window: Window): Window => {
  const { kernel, strides, dilations, before, after, output } = window
  if (kernel.length === 2) return window
  if (kernel.length !== 1)
    throw badRequest(`TFLite has no windows over ${kernel.length} dimensions; one or two are supported.`)
  return {
    kernel: [1, ...kernel],
    strides: [1, ...strides],
    dilations: [1, ...dilations],
    before: [0, ...before],
    after: [0, ...after],
    output: [1, ...output],
  }
}

/** The first input as [batch, height, width, channels]. */
const image = (node: Lowering): Tensor => {
  const { shape } = node.input(0)
  const tensor = node.value(0, channelsLast(shape.length))
  return shape.length === 3 ? reshape(node.graph, tensor, [tensor.shape[0]!, 1, ...tensor.shape.slice(1)]) : tensor
}

const defineImage = (node: Lowering, tensor: Tensor): void => {
  const rank = node.result().shape.length
  const [batch, , width, channels] = tensor.shape
  const result = rank === 3 ? reshape(node.graph, tensor, [batch!, width!, channels!]) : tensor
  node.define(result, channelsLast(rank))
}

/** How far the window reaches behind the end, in place of the padding that the file states: the rest is never read. */
const behind = (window: Window, size: readonly number[]): number[] =>
  window.output.map((steps, at) => {
    const extent = (window.kernel[at]! - 1) * window.dilations[at]! + 1
    return Math.max(0, (steps - 1) * window.strides[at]! + extent - size[at]! - window.before[at]!)
  })

/** Whether TFLite's own padding is the one of this window. */
const isSame = (window: Window, size: readonly number[], after: readonly number[]): boolean =>
  size.every((length, at) => {
    const total = window.before[at]! + after[at]!
    return Math.ceil(length / window.strides[at]!) === window.output[at] && window.before[at] === Math.floor(total / 2)
  })

/** The image with this value around it, and the kind of padding that is left to the operator. */
const padImage = (
  graph: TfliteGraph,
  x: Tensor,
  window: Window,
  fill: number | null,
): { x: Tensor; padding: number } => {
  const size = x.shape.slice(1, 3)
  const after = behind(window, size)
  if ([...window.before, ...after].every((count) => count === 0)) return { x, padding: VALID }
  if (window.before.some((count) => count < 0)) throw badRequest('Negative padding of a window is not supported.')
  if (fill !== 1 && isSame(window, size, after)) return { x, padding: SAME }
  const pads = [0, 0, window.before[0]!, after[0]!, window.before[1]!, after[1]!, 0, 0]
  const shape = x.shape.map((length, at) => length + pads[2 * at]! + pads[2 * at + 1]!)
  const paddings = graph.constant('i32', [4, 2], pads)
  const value = fill === null ? graph.constant('f32', [1], [-3.4028234663852886e38]) : undefined
  const padded =
    value === undefined
      ? graph.operator('PAD', [x, paddings], { shape }, { table: 'PadOptions', value: {} })
      : graph.operator('PADV2', [x, paddings, value], { shape }, { table: 'PadV2Options', value: {} })
  return { x: padded, padding: VALID }
}

const slidingOptions = (window: Window, padding: number) => ({
  padding,
  strideH: window.strides[0]!,
  strideW: window.strides[1]!,
  activation: 0,
  dilationH: window.dilations[0]!,
  dilationW: window.dilations[1]!,
})

const biasOf = (node: Lowering, channels: number): Tensor =>
  node.has(2) ? node.value(2) : node.graph.constant('f32', [channels], new Float32Array(channels))

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
  const options = slidingOptions(window, padding)
  const inputs = [x, filter, biasOf(node, outputs)]
  const result = depthwise
    ? node.graph.operator(
        'DEPTHWISE_CONV_2D',
        inputs,
        { shape },
        {
          table: 'DepthwiseConv2DOptions',
          value: { ...options, depthMultiplier: outputs / channels },
        },
      )
    : node.graph.operator('CONV_2D', inputs, { shape }, { table: 'Conv2DOptions', value: options })
  defineImage(node, result)
}

/** Axes of the weights that are the window's. */
const spatial = (node: Lowering): number[] =>
  node
    .input(1)
    .shape.slice(2)
    .map((_, at) => at + 2)

/** The kernel with zeros between its elements, as TFLite has no dilated transposed convolution. */
const dilated = (kernel: Constant, dilations: readonly number[]): Constant => {
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

/** Kernels [out, height, width, in] of each group. Those that are computed have one group and no dilation. */
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
    const values = Float64Array.from({ length: kernel.values.length / groups }, (_, at) => {
      return kernel.values[Math.floor(at / part) * channels + group * part + (at % part)]!
    })
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
  const parts = kernels.map((weights, group) => {
    const part = channels / groups
    const x = slice(graph, source, [0, 0, 0, group * part], [batch, height, width, part])
    const shape = [batch, ...full, weights.shape[0]!]
    return graph.operator(
      'TRANSPOSE_CONV',
      [node.integers(shape), weights, x],
      { shape, type: x.type },
      {
        table: 'TransposeConvOptions',
        value: { padding: VALID, strideH: window.strides[0]!, strideW: window.strides[1]!, activation: 0 },
      },
    )
  })
  const joined = groups === 1 ? parts[0]! : concat(graph, parts, 3)
  // What lies before the padding is cut off; what output_padding adds behind the end is zero.
  const missing = window.output.map((size, at) => Math.max(0, window.before[at]! + size - full[at]!))
  const shape = [batch, full[0]! + missing[0]!, full[1]! + missing[1]!, joined.shape[3]!]
  const pads = node.graph.constant('i32', [4, 2], [0, 0, 0, missing[0]!, 0, missing[1]!, 0, 0])
  const padded = missing.some((count) => count > 0)
    ? graph.operator('PAD', [joined, pads], { shape }, { table: 'PadOptions', value: {} })
    : joined
  const begin = [0, ...window.before, 0]
  const cut = slice(graph, padded, begin, [batch, ...window.output, joined.shape[3]!])
  defineImage(node, node.has(2) ? arithmetic(graph).add(cut, node.value(2)) : cut)
}

export const slice = (graph: TfliteGraph, x: Tensor, begin: readonly number[], size: readonly number[]): Tensor => {
  if (begin.every((at) => at === 0) && size.every((count, at) => count === x.shape[at])) return x
  const lists = [begin, size].map((list) => graph.constant('i32', [list.length], list))
  return graph.operator('SLICE', [x, ...lists], { shape: size }, { table: 'SliceOptions', value: {} })
}

export const concat = (graph: TfliteGraph, parts: readonly Tensor[], axis: number): Tensor => {
  const along = parts.reduce((sum, { shape }) => sum + shape[axis]!, 0)
  const shape = parts[0]!.shape.map((size, at) => (at === axis ? along : size))
  return graph.operator(
    'CONCATENATION',
    parts,
    { shape },
    { table: 'ConcatenationOptions', value: { axis, activation: 0 } },
  )
}

/** Elements at these constant places of an axis. */
export const take = (graph: TfliteGraph, x: Tensor, places: readonly number[], axis: number): Tensor => {
  const shape = x.shape.map((size, at) => (at === axis ? places.length : size))
  return graph.operator(
    'GATHER',
    [x, graph.constant('i32', [places.length], places)],
    { shape },
    { table: 'GatherOptions', value: { axis, batchDims: 0 } },
  )
}

/** For each place of the output, by what the mean over the whole window is multiplied to be that over its counted part. */
const meanFactors = (
  window: Window,
  size: readonly number[],
  stated: Window,
  withPadding: boolean,
): number[] | null => {
  const counts = window.output.map((steps, at) =>
    Array.from({ length: steps }, (_, step) => {
      const start = step * window.strides[at]! - window.before[at]!
      const [low, high] = withPadding ? [-stated.before[at]!, size[at]! + stated.after[at]!] : [0, size[at]!]
      let count = 0
      for (let k = 0; k < window.kernel[at]!; k++) {
        const place = start + k * window.dilations[at]!
        if (place >= low && place < high) count++
      }
      return count / window.kernel[at]!
    }),
  )
  const factors = counts[0]!.flatMap((rows) => counts[1]!.map((columns) => 1 / (rows * columns)))
  return factors.every((factor) => factor === 1) ? null : factors
}

const pool =
  (kind: 'max' | 'mean'): Lower =>
  (node) => {
    if (node.wants(1)) throw badRequest('TFLite has no indices of a pool.')
    const window = overTwo(poolWindow(node))
    if (window.dilations.some((step) => step !== 1)) throw badRequest('TFLite has no dilated pools.')
    const source = image(node)
    const shape = [source.shape[0]!, ...window.output, source.shape[3]!]
    const name = kind === 'max' ? 'MAX_POOL_2D' : 'AVERAGE_POOL_2D'
    const { x, padding } = padImage(node.graph, source, window, kind === 'max' ? null : 1)
    const [height, width] = window.kernel as [number, number]
    const pooled = node.graph.operator(
      name,
      [x],
      { shape },
      {
        table: 'Pool2DOptions',
        value: { padding, strideH: window.strides[0]!, strideW: window.strides[1]!, width, height, activation: 0 },
      },
    )
    const factors =
      kind === 'max' ? null : meanFactors(window, source.shape.slice(1, 3), window, node.int('count_include_pad') !== 0)
    if (factors === null) return defineImage(node, pooled)
    const constant = node.graph.constant('f32', [1, ...window.output, 1], factors)
    defineImage(node, arithmetic(node.graph).mul(pooled, constant))
  }

const globalPool =
  (name: 'MEAN' | 'REDUCE_MAX'): Lower =>
  (node) => {
    const { shape } = node.result()
    const order = node.order(0)
    const axes = order.flatMap((axis, at) => (axis > 1 ? [at] : []))
    const result = order.map((axis) => shape[axis]!)
    node.define(
      node.graph.operator(
        name,
        [node.value(0, order), node.integers(axes)],
        { shape: result },
        {
          table: 'ReducerOptions',
          value: { keepDims: true },
        },
      ),
      order,
    )
  }

const rearranged =
  (name: 'DEPTH_TO_SPACE' | 'SPACE_TO_DEPTH'): Lower =>
  (node) => {
    const block = node.int('blocksize', 1)
    if (name === 'SPACE_TO_DEPTH' && node.text('mode', 'DCR') !== 'DCR')
      throw badRequest('Only the mode DCR is supported.')
    const { shape } = node.result()
    const [batch, channels, height, width] = shape as [number, number, number, number]
    const own = name === 'DEPTH_TO_SPACE' && node.text('mode', 'DCR') === 'DCR'
    const x = node.value(0, [0, 2, 3, 1])
    if (own || name === 'SPACE_TO_DEPTH') {
      const table = name === 'DEPTH_TO_SPACE' ? 'DepthToSpaceOptions' : 'SpaceToDepthOptions'
      const result = node.graph.operator(
        name,
        [x],
        { shape: [batch, height, width, channels] },
        { table, value: { blockSize: block } },
      )
      return node.define(result, [0, 2, 3, 1])
    }
    // CRD: depth is ordered by channel, not by place in the block.
    const places = Array.from({ length: block * block }, (_, place) => place)
    const order = places.flatMap((place) =>
      Array.from({ length: channels }, (_, channel) => channel * places.length + place),
    )
    const moved = node.graph.operator(
      'GATHER',
      [x, node.integers(order)],
      {},
      { table: 'GatherOptions', value: { axis: 3 } },
    )
    const result = node.graph.operator(
      name,
      [moved],
      { shape: [batch, height, width, channels] },
      {
        table: 'DepthToSpaceOptions',
        value: { blockSize: block },
      },
    )
    node.define(result, [0, 2, 3, 1])
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
