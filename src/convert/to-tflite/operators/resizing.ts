// Resize: enlarges or shrinks images and other tensors along their axes.
import { badRequest } from '../../../domain/errors.ts'
import { ownEntry } from '../../../domain/own-entry.ts'
import { axisOf } from '../../onnx/constants.ts'
import { statedScales } from '../../onnx/shape-values.ts'
import { arrange, type Lower, type Lowering, plainOrder } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic } from './arithmetic.ts'
import { take } from './slices.ts'

const transformationOf = (node: Lowering): string =>
  node.text('coordinate_transformation_mode', node.opset < 11 ? 'asymmetric' : 'half_pixel')

/** The source position of each output element. Source: the operator Resize, nearest. */
const nearest = (node: Lowering, size: number, output: number, scale: number): number[] => {
  const mode = transformationOf(node)
  const rounding = node.text('nearest_mode', node.opset < 11 ? 'floor' : 'round_prefer_floor')
  return Array.from({ length: output }, (_, place) => {
    const at = coordinate(mode, place, size, output, scale)
    const low = Math.floor(at)
    const isHalf = Math.abs(at - low - 0.5) < HALF_TOLERANCE
    const rounded = isHalf ? low + Number(rounding === 'round_prefer_ceil') : Math.round(at)
    const near = ownEntry({ floor: low, ceil: Math.ceil(at) }, rounding) ?? rounded
    return Math.min(Math.max(near, 0), size - 1)
  })
}

/** Within this distance of a half, onnxruntime treats a position as the half. */
const HALF_TOLERANCE = 1e-6

/** Rounded to float32 after each step, like ONNX and onnxruntime: 17 / 1.7 is then 10; in float64 it is slightly less. */
const coordinate = (mode: string, place: number, size: number, output: number, scale: number): number => {
  const single = Math.fround(scale)
  if (mode === 'half_pixel' || (mode === 'pytorch_half_pixel' && output > 1))
    return Math.fround(Math.fround((place + 0.5) / single) - 0.5)
  if (mode === 'pytorch_half_pixel') return 0
  if (mode === 'asymmetric') return Math.fround(place / single)
  if (mode === 'align_corners') return output === 1 ? 0 : Math.fround(Math.fround(place * (size - 1)) / (output - 1))
  throw badRequest(`The coordinate transformation '${mode}' is not supported; use half_pixel.`)
}

/** The weights of the four elements around a position that is `t` after the second one. Source: Keys 1981. */
const cubicWeights = (t: number, a: number): number[] => {
  const near = (x: number) => ((a + 2) * x - (a + 3)) * x * x + 1
  const far = (x: number) => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
  return [far(t + 1), near(t), near(1 - t), far(2 - t)]
}

/** One axis of a Resize: each output element is a weighted mean of two or four elements. */
const interpolated = (node: Lowering, x: Tensor, axis: number, output: number, scale: number): Tensor => {
  const mode = transformationOf(node)
  const cubic = node.text('mode') === 'cubic'
  const size = x.shape[axis]!
  const inside = (place: number) => Math.min(Math.max(place, 0), size - 1)
  const rows = Array.from({ length: output }, (_, place) => {
    const at = coordinate(mode, place, size, output, scale)
    const from = cubic ? at : inside(at)
    const low = Math.floor(from)
    const places = cubic ? [low - 1, low, low + 1, low + 2] : [low, low + 1]
    const weights = cubic ? cubicWeights(from - low, node.float('cubic_coeff_a', -0.75)) : [low + 1 - from, from - low]
    const counted = weights.map((weight, tap) => {
      const outside = places[tap]! < 0 || places[tap]! >= size
      return outside && node.int('exclude_outside') !== 0 ? 0 : weight
    })
    const total = counted.reduce((sum, weight) => sum + weight, 0)
    return { places: places.map(inside), weights: counted.map((weight) => weight / total) }
  })
  const { add, mul } = arithmetic(node.graph)
  const shape = x.shape.map((_, other) => (other === axis ? output : 1))
  const terms = rows[0]!.places.map((_, tap) => {
    const weights = rows.map((row) => row.weights[tap]!)
    const places = rows.map((row) => row.places[tap]!)
    const share = node.graph.constant('f32', shape, weights)
    return mul(take(node.graph, x, places, axis), share)
  })
  return terms.reduce(add)
}

const resize: Lower = (node) => {
  const { shape } = node.input(0)
  const target = node.result().shape
  const order = node.order(0)
  const mode = node.text('mode', 'nearest')
  if (!['nearest', 'linear', 'bilinear', 'cubic'].includes(mode)) {
    throw badRequest(`The interpolation '${mode}' is not supported by TFLite; use nearest, linear, or cubic.`)
  }
  if (node.int('antialias') !== 0) throw badRequest('antialias is not supported by TFLite.')
  const scales = resizeScales(node)
  node.define(resizeOperator(node, mode, scales) ?? axisByAxis(), order)

  function axisByAxis(): Tensor {
    return order.reduce(
      (x, axis, at) => {
        if (shape[axis] === target[axis]) return x
        const scale = scales[axis]!
        return mode === 'nearest'
          ? take(node.graph, x, nearest(node, shape[axis]!, target[axis]!, scale), at)
          : interpolated(node, x, at, target[axis]!, scale)
      },
      node.value(0, order),
    )
  }
}

/** The stated scale of each axis, or the ratio of sizes if sizes are given. */
const resizeScales = (node: Lowering): number[] => {
  const { shape } = node.input(0)
  const target = node.result().shape
  const list = node.has(3) ? undefined : statedScales(node)
  const axes = node.ints('axes')?.map((axis) => axisOf(axis, shape.length)) ?? plainOrder(shape.length)
  return shape.map(
    (size, axis) => (axes.includes(axis) ? list?.[axes.indexOf(axis)] : undefined) ?? target[axis]! / size,
  )
}

/** [alignCorners, halfPixelCenters] */
const BILINEAR = { half_pixel: [false, true], align_corners: [true, false], asymmetric: [false, false] }

/** TFLite's own operator for a linear Resize of an image by the ratio of sizes, if one computes the same. */
const resizeOperator = (node: Lowering, mode: string, scales: readonly number[]): Tensor | undefined => {
  const { shape } = node.input(0)
  const target = node.result().shape
  const order = node.order(0)
  const own = ownEntry(BILINEAR, transformationOf(node))
  const image = order.join() === '0,2,3,1' && shape[0] === target[0] && shape[1] === target[1]
  const exact = shape.every((size, axis) => Math.abs(scales[axis]! * size - target[axis]!) < 1e-6)
  if (mode === 'nearest' || mode === 'cubic' || own === undefined || !image || !exact) return undefined
  const [alignCorners, halfPixelCenters] = own
  const inputs = [node.value(0, order), node.graph.vector('i32', target.slice(2))]
  const result = { shape: arrange(target, order) }
  return node.graph.operator('RESIZE_BILINEAR', inputs, result, { alignCorners, halfPixelCenters })
}

export const RESIZING: Readonly<Record<string, Lower>> = { Resize: resize, Upsample: resize }
