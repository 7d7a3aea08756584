// Pooling, which TFLite computes over [batch, height, width, channels].
import { badRequest } from '../../../domain/errors.ts'
import { poolWindow, type Window } from '../../onnx/window-shapes.ts'
import type { Lower } from '../lowering.ts'
import { arithmetic } from './arithmetic.ts'
import { defineImage, image, overTwo, padImage } from './images.ts'
import { reduceTensor } from './reductions.ts'

/** For each output position, the factor from the mean over the whole window to the mean over its counted part. */
const meanFactors = (window: Window, size: readonly number[], withPadding: boolean): number[] | null => {
  const counts = window.output.map((steps, at) =>
    Array.from({ length: steps }, (_, step) => {
      const start = step * window.strides[at]! - window.before[at]!
      const [low, high] = withPadding ? [-window.before[at]!, size[at]! + window.after[at]!] : [0, size[at]!]
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

export const pool =
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
    const [strideH, strideW] = window.strides as [number, number]
    const options = { padding, strideH, strideW, width, height, activation: 0 }
    const pooled = node.graph.operator(name, [x], { shape }, options)
    const factors =
      kind === 'max' ? null : meanFactors(window, source.shape.slice(1, 3), node.int('count_include_pad') !== 0)
    if (factors === null) return defineImage(node, pooled)
    const constant = node.graph.constant('f32', [1, ...window.output, 1], factors)
    defineImage(node, arithmetic(node.graph).mul(pooled, constant))
  }

export const globalPool =
  (name: 'MEAN' | 'REDUCE_MAX'): Lower =>
  (node) => {
    const order = node.order(0)
    const axes = order.flatMap((axis, at) => (axis > 1 ? [at] : []))
    node.define(reduceTensor(node.graph, name, node.value(0, order), axes), order)
  }
