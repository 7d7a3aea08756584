// The positions of windows in convolutions and pools. Channels are last in Keras and first in ONNX.
import { type Attribute, ints, text } from '../../onnx/model.ts'
import type { LayerCall, Size, Value } from '../layer-call.ts'

export interface Window {
  readonly kernel: readonly number[]
  readonly strides: readonly number[]
  readonly dilations: readonly number[]
}

export interface Placed {
  readonly attributes: Record<string, Attribute>
  /** The spatial sizes of the result. */
  readonly sizes: Size[]
}

/** The positions of windows: `same` yields ⌈n / stride⌉, `valid` those that fit, and `causal` looks only backward. */
export const placed = (call: LayerCall, value: Value, { kernel, strides, dilations }: Window): Placed => {
  const padding = call.text('padding', 'valid').toLowerCase()
  const spatial = value.shape.slice(1, -1)
  const spans = kernel.map((size, axis) => dilations[axis]! * (size - 1) + 1)
  const fixed = { kernel_shape: ints(kernel), strides: ints(strides), dilations: ints(dilations) }
  const sizes = (before: readonly number[], after: readonly number[]) =>
    spatial.map((size, axis) =>
      call.sized(size, (n) => Math.floor((n + before[axis]! + after[axis]! - spans[axis]!) / strides[axis]!) + 1),
    )
  const none = spans.map(() => 0)
  if (padding === 'valid') return { attributes: fixed, sizes: sizes(none, none) }
  if (padding === 'causal') {
    const before = spans.map((span) => span - 1)
    return { attributes: { ...fixed, pads: ints([...before, ...none]) }, sizes: sizes(before, none) }
  }
  if (padding !== 'same') throw call.refuse(`its padding is '${padding}'.`)
  if (spatial.some((size) => typeof size !== 'number') && strides.some((stride) => stride > 1)) {
    return {
      attributes: { ...fixed, auto_pad: text('SAME_UPPER') },
      sizes: spatial.map((size) => `${size}_${call.layer.name}`),
    }
  }
  const whole = spans.map((span, axis) => {
    const size = spatial[axis]!
    if (typeof size !== 'number') return span - 1
    return Math.max(0, (Math.ceil(size / strides[axis]!) - 1) * strides[axis]! + span - size)
  })
  const before = whole.map((count) => Math.floor(count / 2))
  const after = whole.map((count, axis) => count - before[axis]!)
  const results = spatial.map((size, axis) => (typeof size === 'number' ? Math.ceil(size / strides[axis]!) : size))
  return { attributes: { ...fixed, pads: ints([...before, ...after]) }, sizes: results }
}

export const spatialResult = (
  call: LayerCall,
  value: Value,
  name: string,
  sizes: readonly Size[],
  channels: Size,
): Value => call.result(name, [value.shape[0]!, ...sizes, channels], { channelsFirst: value.shape.length > 2 })
