// Convolutions and pooling. Spatial axes are the last ones.
import { type Attribute, int, ints } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'

/** One number stands for all axes. */
const perAxis = (values: readonly number[], axes: number): number[] =>
  values.length === 1 ? new Array<number>(axes).fill(values[0]!) : [...values]

/** Runs `make` on a batch; an input without a batch axis gets one for it. */
const batched = (node: Lowering, name: string, axes: number, make: (x: string) => string): string => {
  const x = node.input(name)
  if (node.shape(name).length !== axes + 1) return make(x)
  return node.squeeze(make(node.unsqueeze(x, [0])), [0])
}

const convolved = (node: Lowering, axes: number, transposed: boolean): string => {
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
      const inputs = [x, node.input('weight')]
      if (node.has('bias')) inputs.push(node.input('bias'))
      return node.emit(transposed ? 'ConvTranspose' : 'Conv', inputs, { ...shared, ...attributes })
    })
  const named = node.argument('padding')
  if (named?.kind === 'text') {
    // 'same' puts the odd one at the end.
    const whole = kernel.map((size, axis) => (named.value === 'same' ? dilations[axis]! * (size - 1) : 0))
    return make({ pads: ints([...whole.map((p) => Math.floor(p / 2)), ...whole.map((p) => p - Math.floor(p / 2))]) })
  }
  const pads = sized('padding', 0)
  if (!transposed) return make({ pads: ints([...pads, ...pads]) })
  return make({ pads: ints([...pads, ...pads]), output_padding: ints(sized('output_padding', 0)) })
}

const conv =
  (axes: number, transposed = false): Operator =>
  (node) =>
    convolved(node, axes, transposed)

const anyConvolution: Operator = (node) =>
  convolved(node, node.fixedShape('weight').length - 2, node.flag('transposed'))

interface Window {
  readonly kernel: number[]
  readonly strides: number[]
  readonly pads: number[]
  /** Elements that the last windows reach beyond the padding where sizes are rounded up. */
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
    return batched(node, 'self', axes, (x) => node.emit('MaxPool', [x], attributes))
  }

const avgPool =
  (axes: number): Operator =>
  (node) => {
    if (node.has('divisor_override')) throw node.refuse('it has a divisor of its own (divisor_override).')
    const window = windowOf(node, axes)
    const isPadded = window.pads.some((pad) => pad > 0)
    const reachesBeyond = window.ceil || window.beyond.some((count) => count > 0)
    const counts = isPadded && node.flag('count_include_pad', true)
    if (counts && reachesBeyond)
      throw node.refuse('it counts padding and rounds sizes up; set ceil_mode or count_include_pad to False.')
    const attributes = { ...attributesOf(window), count_include_pad: int(Number(counts)) }
    return batched(node, 'self', axes, (x) => node.emit('AveragePool', [x], attributes))
  }

/** The part of every input in every mean, [inputs, outputs]: window i is from ⌊i·n/m⌋ to ⌈(i+1)·n/m⌉, as torch has it. */
const meansOf = (inputs: number, outputs: number): Float32Array => {
  const means = new Float32Array(inputs * outputs)
  for (let to = 0; to < outputs; to++) {
    const start = Math.floor((to * inputs) / outputs)
    const end = Math.ceil(((to + 1) * inputs) / outputs)
    for (let from = start; from < end; from++) means[from * outputs + to] = 1 / (end - start)
  }
  return means
}

const MAX_MEANS = 2 ** 20

/** Each axis is a matrix product with the parts of its means. */
const unevenMeans = (node: Lowering, x: string, from: readonly number[], to: readonly number[]): string => {
  const rank = node.shape().length
  const toLast = (axis: number) =>
    ints(Array.from({ length: rank }, (_, at) => (at === axis ? rank - 1 : at === rank - 1 ? axis : at)))
  return from.reduce((value, inputs, at) => {
    const outputs = to[at]!
    if (inputs * outputs > MAX_MEANS) throw node.refuse('its sizes are too large where they are not multiples.')
    const axis = rank - from.length + at
    const swapped = axis === rank - 1 ? value : node.emit('Transpose', [value], { perm: toLast(axis) })
    const means = node.emit('MatMul', [swapped, node.constant('f32', [inputs, outputs], meansOf(inputs, outputs))])
    return axis === rank - 1 ? means : node.emit('Transpose', [means], { perm: toLast(axis) })
  }, x)
}

const adaptivePool =
  (axes: number, global: string, pool: string): Operator =>
  (node) => {
    const to = node.fixed(node.result().shape.slice(-axes), 'the size of its result')
    if (to.every((size) => size === 1)) return batched(node, 'self', axes, (x) => node.emit(global, [x]))
    const from = node.fixed(node.shape().slice(-axes), 'the size of its input')
    if (to.every((size, axis) => size === from[axis])) return node.input()
    if (to.every((size, axis) => from[axis]! % size === 0)) {
      const kernel = ints(to.map((size, axis) => from[axis]! / size))
      return batched(node, 'self', axes, (x) => node.emit(pool, [x], { kernel_shape: kernel, strides: kernel }))
    }
    if (pool === 'MaxPool') throw node.refuse(`${from.join('x')} is not a multiple of ${to.join('x')}.`)
    return unevenMeans(node, node.input(), from, to)
  }

export const CONVOLUTION: Readonly<Record<string, Operator>> = {
  conv1d: conv(1),
  conv2d: conv(2),
  conv3d: conv(3),
  conv_transpose1d: conv(1, true),
  conv_transpose2d: conv(2, true),
  conv_transpose3d: conv(3, true),
  convolution: anyConvolution,
  _convolution: anyConvolution,
  max_pool1d: maxPool(1),
  max_pool2d: maxPool(2),
  max_pool3d: maxPool(3),
  max_pool2d_with_indices: maxPool(2),
  avg_pool1d: avgPool(1),
  avg_pool2d: avgPool(2),
  avg_pool3d: avgPool(3),
  adaptive_avg_pool1d: adaptivePool(1, 'GlobalAveragePool', 'AveragePool'),
  adaptive_avg_pool2d: adaptivePool(2, 'GlobalAveragePool', 'AveragePool'),
  _adaptive_avg_pool2d: adaptivePool(2, 'GlobalAveragePool', 'AveragePool'),
  adaptive_avg_pool3d: adaptivePool(3, 'GlobalAveragePool', 'AveragePool'),
  adaptive_max_pool1d: adaptivePool(1, 'GlobalMaxPool', 'MaxPool'),
  adaptive_max_pool2d: adaptivePool(2, 'GlobalMaxPool', 'MaxPool'),
}
