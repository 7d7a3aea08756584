// QuantizeLinear and DequantizeLinear as float32 arithmetic: the operators between them are computed as in ONNX.

import { badRequest } from '../../../domain/errors.ts'
import { axisOf } from '../../onnx/constants.ts'
import { elementCount } from '../../onnx/model.ts'
import { type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor, TfliteType } from '../tflite-graph.ts'
import { arithmetic, castTo } from './arithmetic.ts'

const RANGES: Readonly<Partial<Record<TfliteType, readonly [number, number]>>> = {
  i8: [-128, 127],
  i16: [-32768, 32767],
  u8: [0, 255],
}

/** A scale or zero point, shaped to broadcast over the input: a number, or one per index of an axis. */
const parameter = (node: Lowering, at: number): Tensor => {
  const { shape } = node.input(0)
  const own = node.input(at).shape
  const tensor = castTo(node.graph, node.value(at), 'f32')
  if (elementCount(own) === 1) return reshape(node.graph, tensor, [])
  if (own.length !== 1) throw badRequest('Scales for blocks are not supported by TFLite.')
  const axis = axisOf(node.int('axis', 1), shape.length)
  return reshape(
    node.graph,
    tensor,
    shape.map((_, other) => (other === axis ? own[0]! : 1)),
  )
}

const quantize: Lower = (node) => {
  const { graph } = node
  const { type } = node.result()
  const range = RANGES[type]
  if (range === undefined) throw badRequest(`Quantized values of type ${type} are not supported by TFLite.`)
  const { div, add, min, max } = arithmetic(graph)
  const rounded = graph.operator('ROUND', [div(node.value(0), parameter(node, 1))])
  const moved = node.has(2) ? add(rounded, parameter(node, 2)) : rounded
  node.define(castTo(graph, min(max(moved, range[0]), range[1]), type))
}

const dequantize: Lower = (node) => {
  const { sub, mul } = arithmetic(node.graph)
  const x = castTo(node.graph, node.value(0), 'f32')
  node.define(mul(node.has(2) ? sub(x, parameter(node, 2)) : x, parameter(node, 1)))
}

export const QUANTIZED: Readonly<Record<string, Lower>> = { DequantizeLinear: dequantize, QuantizeLinear: quantize }
