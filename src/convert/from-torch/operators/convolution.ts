// Convolutions and pooling. Spatial axes are the last ones.
import { type Attribute, elementCount, int, ints } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { forAxes, named } from './operands.ts'

/** A single number applies to all axes. */
const perAxis = (values: readonly number[], axes: number): number[] =>
  values.length === 1 ? new Array<number>(axes).fill(values[0]!) : [...values]

/** Runs `make` on a batch; adds a batch axis to an input without one. */
const batched = (node: Lowering, name: string, axes: number, make: (x: string) => string): string => {
  const x = node.input(name)
  if (node.shape(name).length !== axes + 1) return make(x)
  return node.squeeze(make(node.unsqueeze(x, [0])), [0])
}

const conv =
  (transposed: boolean) =>
  (axes: number): Operator =>
  (node) => {
    const sized = (name: string, absent: number) => perAxis(node.numbers(name, [absent]), axes)
    const kernel = node.fixedShape('weight').slice(2)
    const dilations = sized('dilation', 1)
    const shared = {
      kernel_shape: ints(kernel),
      strides: ints(sized('stride', 1)),
      dilations: ints(dilations),
      group: int(node.number('groups', 1)),
    }
    const make = (attributes: Record<string, Attribute>) =>
      batched(node, 'input', axes, (x) => {
        const inputs = [x, ...node.given('weight', 'bias')]
        return node.emit(transposed ? 'ConvTranspose' : 'Conv', inputs, { ...shared, ...attributes })
      })
    const padding = node.argument('padding')
    if (padding?.kind === 'text') {
      // 'same' puts an odd element of padding at the end.
      const whole = kernel.map((size, axis) => (padding.value === 'same' ? dilations[axis]! * (size - 1) : 0))
      return make({ pads: ints([...whole.map((p) => Math.floor(p / 2)), ...whole.map((p) => p - Math.floor(p / 2))]) })
    }
    const pads = sized('padding', 0)
    if (!transposed) return make({ pads: ints([...pads, ...pads]) })
    return make({ pads: ints([...pads, ...pads]), output_padding: ints(sized('output_padding', 0)) })
  }

interface Window {
  readonly kernel: number[]
  readonly strides: number[]
  readonly pads: number[]
  /** The elements by which the last windows exceed the padding if sizes are rounded up. */
  readonly beyond: number[]
  readonly ceil: boolean
}

const windowOf = (node: Lowering, axes: number): Window & { dilations: number[] } => {
  const kernel = perAxis(node.numbers('kernel_size'), axes)
  const given = node.numbers('stride', [])
  const strides = given.length === 0 ? kernel : perAxis(given, axes)
  const pads = perAxis(node.numbers('padding', [0]), axes)
  const dilations = perAxis(node.numbers('dilation', [1]), axes)
  const [from, to] = [node.shape().slice(-axes), node.result().shape.slice(-axes)]
  const ceil = node.flag('ceil_mode')
  const beyond = kernel.map((size, axis) => {
    const [before, after] = [from[axis], to[axis]]
    if (!ceil || typeof before !== 'number' || typeof after !== 'number') return 0
    const needed = (after - 1) * strides[axis]! + dilations[axis]! * (size - 1) + 1
    return Math.max(0, needed - before - 2 * pads[axis]!)
  })
  const isDynamic = [...from, ...to].some((size) => typeof size !== 'number')
  return { kernel, strides, pads, dilations, beyond, ceil: ceil && isDynamic }
}

const attributesOf = ({ kernel, strides, pads, beyond, ceil }: Window): Record<string, Attribute> => ({
  kernel_shape: ints(kernel),
  strides: ints(strides),
  pads: ints([...pads, ...pads.map((pad, axis) => pad + beyond[axis]!)]),
  ...(ceil ? { ceil_mode: int(1) } : {}),
})

const maxPool =
  (axes: number): Operator =>
  (node) => {
    const window = windowOf(node, axes)
    const attributes = { ...attributesOf(window), dilations: ints(window.dilations) }
    const [, places] = node.resultNames()
    if (places === undefined || node.rank() !== axes + 2 || !node.isRead(places)) {
      return batched(node, 'self', axes, (x) => node.emit('MaxPool', [x], attributes))
    }
    // torch counts positions within each channel, ONNX in the whole tensor.
    const [value, inAll] = node.emitSeveral('MaxPool', [node.input()], 2, attributes)
    const size = elementCount(node.fixed(node.shape().slice(2), 'the size of its input'))
    return [value!, node.emit('Mod', [inAll!, node.scalar('i64', size)])]
  }

/** Puts every element at the position in its channel that its index gives; zeros elsewhere. */
const maxUnpool: Operator = (node) => {
  const to = node.result().shape
  const size = elementCount(node.fixed(to.slice(-2), 'the size of its result'))
  const flat = (name: string) => node.reshape(node.input(name), [0, 0, -1])
  const zeros = node.everywhere([...to.slice(0, 2), size], node.type(), 0)
  const placed = node.emit('ScatterElements', [zeros, flat('indices'), flat('self')], { axis: int(2) })
  return node.reshapeTo(placed, to.slice(0, 2), to)
}

const avgPool =
  (axes: number): Operator =>
  (node) => {
    const window = windowOf(node, axes)
    const divisor = node.has('divisor_override') ? node.number('divisor_override') : 0
    const isPadded = window.pads.some((pad) => pad > 0)
    const reachesBeyond = window.ceil || window.beyond.some((count) => count > 0)
    const counts = (isPadded && node.flag('count_include_pad', true)) || divisor !== 0
    // Padding counts, but elements beyond it (if sizes are rounded up) do not, so the padding is added as zeros.
    const apart = counts && reachesBeyond && divisor === 0
    const pads = node.integers([0, 0, ...window.pads, 0, 0, ...window.pads])
    const shown = apart ? { ...window, pads: window.pads.map(() => 0) } : window
    const attributes = { ...attributesOf(shown), count_include_pad: int(Number(counts && !apart)) }
    return batched(node, 'self', axes, (x) => {
      const mean = node.emit('AveragePool', [apart ? node.emit('Pad', [x, pads]) : x], attributes)
      if (divisor === 0) return mean
      return node.emit('Mul', [mean, node.scalar(node.type(), elementCount(window.kernel) / divisor)])
    })
  }

/** As in torch, window i of m is from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉. */
const unevenWindow = (at: number, inputs: number, outputs: number): readonly [number, number] => [
  Math.floor((at * inputs) / outputs),
  Math.ceil(((at + 1) * inputs) / outputs),
]

/** The weight of each input in each mean, [inputs, outputs]. */
const meansOf = (inputs: number, outputs: number): Float32Array => {
  const means = new Float32Array(inputs * outputs)
  for (let to = 0; to < outputs; to++) {
    const [start, end] = unevenWindow(to, inputs, outputs)
    for (let from = start; from < end; from++) means[from * outputs + to] = 1 / (end - start)
  }
  return means
}

const MAX_MEANS = 2 ** 20

/** Computes each axis as a matrix product with the weights of its means. */
const unevenMeans = (node: Lowering, x: string, from: readonly number[], to: readonly number[]): string => {
  const rank = node.rank()
  return from.reduce((value, inputs, at) => {
    const outputs = to[at]!
    if (inputs * outputs > MAX_MEANS)
      throw node.refuse('its input size is not a multiple of its result size, and too large for that.')
    const axis = rank - from.length + at
    const swapped = node.swap(value, rank, axis, rank - 1)
    const means = node.emit('MatMul', [swapped, node.constant('f32', [inputs, outputs], meansOf(inputs, outputs))])
    return node.swap(means, rank, axis, rank - 1)
  }, x)
}

/** Gathers each axis window by window, all as long as the longest one; shorter windows repeat their last element. */
const unevenLargest = (node: Lowering, x: string, from: readonly number[], to: readonly number[]): string =>
  from.reduce((value, inputs, at) => {
    const axis = node.rank() - from.length + at
    const outputs = to[at]!
    const longest = Math.ceil(inputs / outputs) + 1
    const places = node.indices([outputs, longest], (place) => {
      const [start, end] = unevenWindow(Math.floor(place / longest), inputs, outputs)
      return Math.min(start + (place % longest), end - 1)
    })
    const windows = node.gather(value, places, axis)
    return node.emit('ReduceMax', [windows, node.integers([axis + 1])], { keepdims: int(0) })
  }, x)

const adaptivePool =
  (pool: 'AveragePool' | 'MaxPool') =>
  (axes: number): Operator =>
  (node) => {
    const to = node.fixed(node.result().shape.slice(-axes), 'the size of its result')
    if (to.every((size) => size === 1)) return batched(node, 'self', axes, (x) => node.emit(`Global${pool}`, [x]))
    const from = node.fixed(node.shape().slice(-axes), 'the size of its input')
    if (to.every((size, axis) => size === from[axis])) return node.input()
    if (to.every((size, axis) => from[axis]! % size === 0)) {
      const kernel = ints(to.map((size, axis) => from[axis]! / size))
      return batched(node, 'self', axes, (x) => node.emit(pool, [x], { kernel_shape: kernel, strides: kernel }))
    }
    return (pool === 'MaxPool' ? unevenLargest : unevenMeans)(node, node.input(), from, to)
  }

export const CONVOLUTION: Readonly<Record<string, Operator>> = {
  ...forAxes('conv#d', conv(false)),
  ...forAxes('conv_transpose#d', conv(true)),
  ...named('convolution _convolution', (node) => conv(node.flag('transposed'))(node.rank('weight') - 2)(node)),
  ...forAxes('max_pool#d', maxPool),
  ...forAxes('max_pool#d_with_indices', maxPool, [2, 3]),
  max_unpool2d: maxUnpool,
  ...forAxes('avg_pool#d', avgPool),
  ...forAxes('adaptive_avg_pool#d', adaptivePool('AveragePool')),
  ...forAxes('_adaptive_avg_pool#d', adaptivePool('AveragePool'), [2, 3]),
  ...forAxes('adaptive_max_pool#d', adaptivePool('MaxPool')),
}
