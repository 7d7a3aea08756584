// Sliding windows: convolutions and pools.
import { badRequest } from '../../domain/errors.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

/** A sliding window, per spatial dimension. */
export interface Window {
  readonly kernel: readonly number[]
  readonly strides: readonly number[]
  readonly dilations: readonly number[]
  readonly before: readonly number[]
  readonly after: readonly number[]
  readonly output: readonly number[]
}

const listOr = (list: readonly number[] | undefined, length: number, fill: number): readonly number[] => {
  const found = list ?? Array.from({ length }, () => fill)
  if (found.length !== length)
    throw badRequest(`A list of ${found.length} numbers was found where ${length} are expected.`)
  return found
}

const positive = (numbers: readonly number[], name: string): readonly number[] => {
  if (numbers.some((number) => number < 1)) throw badRequest(`${name} [${numbers.join(', ')}] must be positive.`)
  return numbers
}

/** The padding and output of a window over these spatial sizes. Source: the ONNX operators Conv and MaxPool. */
export const windowOf = (context: NodeContext, spatial: readonly number[], kernel: readonly number[]): Window => {
  const strides = positive(listOr(context.ints('strides'), spatial.length, 1), 'strides')
  const dilations = positive(listOr(context.ints('dilations'), spatial.length, 1), 'dilations')
  positive(listOr(kernel, spatial.length, 1), 'The kernel')
  const pads = listOr(context.ints('pads'), 2 * spatial.length, 0)
  const auto = context.text('auto_pad', 'NOTSET')
  const extent = kernel.map((size, at) => (size - 1) * dilations[at]! + 1)
  if (auto === 'SAME_UPPER' || auto === 'SAME_LOWER') {
    const output = spatial.map((size, at) => Math.ceil(size / strides[at]!))
    const total = output.map((size, at) => Math.max(0, (size - 1) * strides[at]! + extent[at]! - spatial[at]!))
    const small = total.map((size) => Math.floor(size / 2))
    const large = total.map((size) => Math.ceil(size / 2))
    const [before, after] = auto === 'SAME_UPPER' ? [small, large] : [large, small]
    return { kernel, strides, dilations, before, after, output }
  }
  const before = auto === 'VALID' ? spatial.map(() => 0) : pads.slice(0, spatial.length)
  const after = auto === 'VALID' ? spatial.map(() => 0) : pads.slice(spatial.length)
  const ceil = context.int('ceil_mode') !== 0
  const output = spatial.map((size, at) => {
    const room = size + before[at]! + after[at]! - extent[at]!
    const steps = (ceil ? Math.ceil : Math.floor)(room / strides[at]!) + 1
    // Windows that start in the padding after the end are omitted.
    return ceil && (steps - 1) * strides[at]! >= size + before[at]! ? steps - 1 : steps
  })
  if (output.some((size) => size < 1)) {
    throw badRequest(
      `A window of [${extent.join(', ')}] is larger than its input of [${spatial.join(', ')}]: give a larger input shape.`,
    )
  }
  return { kernel, strides, dilations, before, after, output }
}

const spatialSizes = (data: StaticValue): readonly number[] => {
  if (data.shape.length < 3) throw badRequest(`The input has ${data.shape.length} dimensions; 3 are needed.`)
  return data.shape.slice(2)
}

export const convWindow = (context: NodeContext): Window => {
  const [data, weight] = [context.input(0), context.input(1)]
  const spatial = spatialSizes(data)
  const groups = context.int('group', 1)
  if (weight.shape.length !== data.shape.length || weight.shape[1]! * groups !== data.shape[1]) {
    throw badRequest(
      `Weights [${weight.shape.join(', ')}] in ${groups} groups do not fit an input of [${data.shape.join(', ')}].`,
    )
  }
  return windowOf(context, spatial, context.ints('kernel_shape') ?? weight.shape.slice(2))
}

export const poolWindow = (context: NodeContext): Window =>
  windowOf(context, spatialSizes(context.input(0)), context.ints('kernel_shape') ?? [])

/** The padding and output of a transposed convolution: `output = stride * (input - 1) + extent - padding`, as in ONNX. */
export const convTransposeWindow = (context: NodeContext): Window => {
  const [data, weight] = [context.input(0), context.input(1)]
  const spatial = spatialSizes(data)
  const kernel = listOr(context.ints('kernel_shape') ?? weight.shape.slice(2), spatial.length, 1)
  const strides = positive(listOr(context.ints('strides'), spatial.length, 1), 'strides')
  const dilations = positive(listOr(context.ints('dilations'), spatial.length, 1), 'dilations')
  const extra = listOr(context.ints('output_padding'), spatial.length, 0)
  const requested = context.ints('output_shape')?.slice(-spatial.length)
  const auto = context.text('auto_pad', 'NOTSET')
  const full = spatial.map(
    (size, at) => strides[at]! * (size - 1) + extra[at]! + (kernel[at]! - 1) * dilations[at]! + 1,
  )
  const wanted = requested ?? (auto.startsWith('SAME') ? spatial.map((size, at) => size * strides[at]!) : undefined)
  if (wanted === undefined) {
    const pads = listOr(auto === 'VALID' ? undefined : context.ints('pads'), 2 * spatial.length, 0)
    const [before, after] = [pads.slice(0, spatial.length), pads.slice(spatial.length)]
    const output = full.map((size, at) => size - before[at]! - after[at]!)
    return { kernel, strides, dilations, before, after, output }
  }
  const total = full.map((size, at) => Math.max(0, size - wanted[at]!))
  const [half, rest] = [total.map((size) => Math.floor(size / 2)), total.map((size) => Math.ceil(size / 2))]
  const [before, after] = auto === 'SAME_UPPER' ? [half, rest] : [rest, half]
  return { kernel, strides, dilations, before, after, output: wanted }
}
