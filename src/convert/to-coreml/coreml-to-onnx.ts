// Converts a Core ML network to an ONNX graph that computes what Apple documents for its layers (coremltools, mlmodel/format),
// for comparisons without Apple's runtime. Weights are expanded to float32, and all values are float32, as in a network.
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { type GraphBuilder, graphBuilder } from '../onnx/graph-builder.ts'
import { int, type OnnxModel } from '../onnx/model.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { decodeMessage } from '../protobuf/message.ts'
import { type Layer, list, num, part } from './layer-rule.ts'
import { LAYER_RULES } from './layer-rules.ts'
import { coremlModel } from './schema.ts'
import type { Message } from './schema-fields.ts'

/** Describes to users how the outputs were computed. */
export const COREML_COMPUTED =
  "computed by onnxruntime from Apple's documentation of the layers, not by Apple's runtime"

const addLayer = (layer: Message, values: Map<string, string>, graph: GraphBuilder): void => {
  const [given, made] = [layer.input, layer.output].map((names) => (names ?? []) as readonly string[])
  const kind = Object.keys(LAYER_RULES).find((name) => layer[name] !== undefined)
  if (kind === undefined) throw badRequest('it is of a type that is not computed here')
  const inputs = given!.map((name) => {
    const value = values.get(name)
    if (value === undefined) throw badRequest(`its input '${name}' is not computed before it`)
    return value
  })
  const emitSeveral: Layer['emitSeveral'] = (type, from, count, attributes = {}) =>
    graph.nodes(
      type,
      from,
      Array.from({ length: count }, () => `#${type}`),
      attributes,
    )
  const results = ownEntry(LAYER_RULES, kind)!({
    p: part(layer[kind]),
    x: inputs[0] ?? '',
    inputs,
    ranks: ((layer.inputTensor ?? []) as readonly Message[]).map(({ rank }) => num(rank)),
    outputs: made!.length,
    emitSeveral,
    emit: (type, from, attributes) => emitSeveral(type, from, 1, attributes)[0]!,
    f32: (numbers, shape) => graph.constant('#constant', tensorOf('f32', shape, numbers)),
    integers: (numbers) => graph.constant('#list', tensorOf('i64', [numbers.length], numbers)),
  })
  for (const [at, value] of [results].flat().entries()) if (made![at] !== undefined) values.set(made![at], value)
}

const EXACT_ARRAY_MAPPING = 1
const INT32 = 131104

interface Feature {
  readonly name: string
  readonly isInteger: boolean
  readonly shape: readonly number[]
}

const featuresOf = (features: unknown): Feature[] =>
  ((features ?? []) as readonly Message[]).flatMap(({ name, type }) => {
    const array = part(type).multiArrayType as Message | undefined
    if (array === undefined) return []
    return [{ name: String(name), isInteger: num(array.dataType) === INT32, shape: list(array.shape) }]
  })

/**
 * Converts the network of a .mlmodel to an ONNX model with the same inputs and outputs; integers are int32. Throws bad_request
 * naming an unsupported layer, and for ML programs, pipelines, images, and networks with the older shape mapping.
 */
export const coremlToOnnx = (bytes: Uint8Array): OnnxModel => {
  const { description, neuralNetwork, neuralNetworkClassifier } = decodeMessage(coremlModel, bytes) as Message
  const network = (neuralNetwork ?? neuralNetworkClassifier) as Message | undefined
  if (network === undefined)
    throw badRequest('The Core ML model has no neural network; only neural networks can be computed here.')
  if (num(network.arrayInputShapeMapping) !== EXACT_ARRAY_MAPPING) {
    throw badRequest('The Core ML network has the five dimensions of older versions, which are not computed here.')
  }
  const { input, output } = part(description)
  const graph = graphBuilder('coreml')
  const values = new Map<string, string>()
  const inputs = featuresOf(input)
  if (inputs.length !== ((input ?? []) as unknown[]).length) {
    throw badRequest('The Core ML network has inputs that are not arrays, which are not computed here.')
  }
  for (const { name, isInteger, shape } of inputs) {
    const value = graph.input(name, isInteger ? 'i32' : 'f32', shape)
    values.set(name, isInteger ? graph.node('Cast', [value], { to: int(1) }, { output: '#Cast' }) : value)
  }
  for (const layer of network.layers as readonly Message[]) {
    try {
      addLayer(layer, values, graph)
    } catch (error) {
      const reason = error instanceof ServiceError ? error.message : 'it is damaged'
      throw badRequest(`Layer '${String(layer.name ?? '')}' of the Core ML network: ${reason}.`)
    }
  }
  for (const { name, isInteger, shape } of featuresOf(output)) {
    const value = values.get(name)
    if (value === undefined) throw badRequest(`Nothing computes the output '${name}' of the Core ML network.`)
    const whole = isInteger ? graph.node('Cast', [value], { to: int(6) }, { output: '#Cast' }) : value
    graph.output(name, whole, isInteger ? 'i32' : 'f32', shape.length === 0 ? null : shape)
  }
  return graph.build()
}
