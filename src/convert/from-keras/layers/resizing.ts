// Padding, cropping, and resizing of the spatial axes.

import { ownEntry } from '../../../domain/own-entry.ts'
import { cubicWeights } from '../../onnx/cubic-weights.ts'
import { type Attribute, float, int, text } from '../../onnx/model.ts'
import { tensorOf } from '../../onnx/tensors.ts'
import type { Layer, LayerCall, Size, Value } from '../layer-call.ts'
import { spatialResult } from './windows.ts'

/** The amounts at both ends of each spatial axis. */
const endsOf = (call: LayerCall, name: string, axes: number): [number, number][] => {
  const value = call.config[name]
  const list = typeof value === 'number' ? new Array<number>(axes).fill(value) : value
  // For a single axis, a pair is its two ends.
  const each = axes === 1 && Array.isArray(list) && list.length === 2 ? [list] : list
  if (!Array.isArray(each) || each.length !== axes)
    throw call.refuse(`its setting '${name}' does not fit ${axes} axes.`)
  return each.map((ends) => {
    const [start, end] = Array.isArray(ends) ? ends : [ends, ends]
    if (typeof start !== 'number' || typeof end !== 'number')
      throw call.refuse(`its setting '${name}' does not consist of numbers.`)
    return [start, end]
  })
}

const resized = (value: Value, ends: readonly [number, number][], sign: number): Size[] =>
  value.shape.slice(1, -1).map((size, axis) => {
    const change = sign * (ends[axis]![0] + ends[axis]![1])
    return typeof size === 'number' ? size + change : change === 0 ? size : `${size}_${change}`
  })

export const zeroPadding =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'padding', axes)
    const at = (side: 0 | 1) => {
      const middle = ends.map((pair) => pair[side])
      return value.channelsFirst ? [0, 0, ...middle] : [0, ...middle, 0]
    }
    // onnxruntime merges zero padding into a following MaxPool, which pads with -∞; it does not do this for -0.
    const name = call.emit('Pad', [value.name, call.integers([...at(0), ...at(1)]), call.scalar(-0)])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, 1), value.shape.at(-1)!] })
  }

export const cropping =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'cropping', axes)
    const starts = call.integers(ends.map(([start]) => start))
    const stops = call.integers(ends.map(([, end]) => (end === 0 ? 2 ** 31 : -end)))
    const over = call.integers(ends.map((_, at) => at + (value.channelsFirst ? 2 : 1)))
    const name = call.emit('Slice', [value.name, starts, stops, over])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, -1), value.shape.at(-1)!] })
  }

/** Attributes of TensorFlow's resize, which uses pixel centers. */
const RESIZE: Readonly<Record<string, Readonly<Record<string, Attribute>>>> = {
  nearest: { mode: text('nearest'), nearest_mode: text('round_prefer_ceil') },
  bilinear: { mode: text('linear') },
  bicubic: { mode: text('cubic'), cubic_coeff_a: float(-0.5), exclude_outside: int(1) },
}

/** Resizes the spatial axes. */
const resizedBy = (call: LayerCall, value: Value, factors: readonly number[], sizes: readonly Size[]): Value => {
  const mode = call.text('interpolation', 'nearest')
  const attributes = ownEntry(RESIZE, mode)
  if (attributes === undefined || call.flag('antialias'))
    throw call.refuse(
      `its interpolation is '${mode}'${attributes ? ' with antialias' : ''}; use nearest, bilinear, or bicubic.`,
    )
  const scales = call.constant('scales', tensorOf('f32', [factors.length + 2], [1, 1, ...factors]))
  const name = call.emit('Resize', [call.first(value), '', scales], {
    ...attributes,
    coordinate_transformation_mode: text('half_pixel'),
  })
  return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
}

export const upsampling =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const factors = call.sizes('size', axes)
    const sizes = value.shape.slice(1, -1).map((size, axis) => call.sized(size, (n) => n * factors[axis]!))
    return resizedBy(call, value, factors, sizes)
  }

/** A bicubic resize by products with the weights of rows and columns. */
const shrunk = (call: LayerCall, value: Value, from: readonly number[], to: readonly number[]): Value => {
  const weightsOf = (axis: number): Float64Array => {
    const [before, after] = [from[axis]!, to[axis]!]
    const positionOf = (place: number) => ((place + 0.5) * before) / after - 0.5
    return cubicWeights(before, after, { coefficient: -0.5, excludesOutside: true, positionOf }, axis === 1)
  }
  const rows = call.constant('rows', tensorOf('f32', [to[0]!, from[0]!], weightsOf(0)))
  const columns = call.constant('columns', tensorOf('f32', [from[1]!, to[1]!], weightsOf(1)))
  const name = call.emit('MatMul', [rows, call.emit('MatMul', [call.first(value), columns])])
  return spatialResult(call, value, name, to, value.shape[3]!)
}

/** Resizes to `size`, or to height and width. */
export const resize: Layer = (call) => {
  const value = call.cast(call.inputOfRank(4), 'f32')
  if (call.flag('crop_to_aspect_ratio') || call.flag('pad_to_aspect_ratio'))
    throw call.refuse('it keeps the aspect ratio; crop (CenterCrop) or pad (ZeroPadding2D) before it.')
  const from = call.fixed(value.shape.slice(1, 3), 'the size of its image')
  const to = 'size' in call.config ? call.sizes('size', 2) : [call.number('height'), call.number('width')]
  // onnxruntime rounds size times scale down, so the scale must not yield less than the intended size.
  const factors = to.map((size, axis) => {
    const factor = Math.fround(size / from[axis]!)
    return Math.floor(Math.fround(from[axis]! * factor)) < size ? factor * (1 + 2 ** -22) : factor
  })
  const isSmaller = to.some((size, axis) => size < from[axis]!)
  return isSmaller && call.text('interpolation', 'nearest') === 'bicubic' && !call.flag('antialias')
    ? shrunk(call, value, from, to)
    : resizedBy(call, value, factors, to)
}

/** The middle of an image that must be large enough. */
export const centerCrop: Layer = (call) => {
  const value = call.cast(call.inputOfRank(4), 'f32')
  const from = call.fixed(value.shape.slice(1, 3), 'the size of its image')
  const to = [call.number('height'), call.number('width')]
  const starts = from.map((size, axis) => Math.floor((size - to[axis]!) / 2))
  if (starts.some((start) => start < 0)) throw call.refuse('its image is smaller than its result; use Resizing.')
  const stops = starts.map((start, axis) => start + to[axis]!)
  const bounds = [starts, stops, [2, 3]].map((each) => call.integers(each))
  return spatialResult(call, value, call.emit('Slice', [call.first(value), ...bounds]), to, value.shape[3]!)
}
