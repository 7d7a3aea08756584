// Images in TFLite's layout, [batch, height, width, channels], and their padding for windows.
import { badRequest } from '../../../domain/errors.ts'
import type { Window } from '../../onnx/window-shapes.ts'
import { channelsLast, type Lowering, reshape } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'

const SAME = 0
export const VALID = 1

/** Expands a window over one dimension to two, the first of size 1. */
export const overTwo = (window: Window): Window => {
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
export const image = (node: Lowering): Tensor => {
  const { shape } = node.input(0)
  const tensor = node.value(0, channelsLast(shape.length))
  return shape.length === 3 ? reshape(node.graph, tensor, [tensor.shape[0]!, 1, ...tensor.shape.slice(1)]) : tensor
}

export const defineImage = (node: Lowering, tensor: Tensor): void => {
  const rank = node.result().shape.length
  const [batch, , width, channels] = tensor.shape
  const result = rank === 3 ? reshape(node.graph, tensor, [batch!, width!, channels!]) : tensor
  node.define(result, channelsLast(rank))
}

/** How far the window extends beyond the end, replacing the stated padding, the rest of which is never read. */
export const behind = (window: Window, size: readonly number[]): number[] =>
  window.output.map((steps, at) => {
    const extent = (window.kernel[at]! - 1) * window.dilations[at]! + 1
    return Math.max(0, (steps - 1) * window.strides[at]! + extent - size[at]! - window.before[at]!)
  })

/** True if TFLite's own padding matches this window. */
const isSame = (window: Window, size: readonly number[], after: readonly number[]): boolean =>
  size.every((length, at) => {
    const total = window.before[at]! + after[at]!
    return Math.ceil(length / window.strides[at]!) === window.output[at] && window.before[at] === Math.floor(total / 2)
  })

/** Pads the image with this value; returns it with the kind of padding left to the operator. */
export const padImage = (
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
      ? graph.operator('PAD', [x, paddings], { shape })
      : graph.operator('PADV2', [x, paddings, value], { shape })
  return { x: padded, padding: VALID }
}
