import { badRequest, ServiceError } from '../../domain/errors.ts'
import { foldConstants } from '../onnx/fold-constants.ts'
import { analyze } from '../onnx/infer-shapes.ts'
import { elementCount, nodeLabel, type OnnxGraph, type OnnxModel, type OnnxNode } from '../onnx/model.ts'
import { DataDependent } from '../onnx/node-context.ts'
import { numbersOf } from '../onnx/tensors.ts'
import { encodeMessage } from '../protobuf/message.ts'
import { CLASSICAL } from './classical.ts'
import { gru } from './gru.ts'
import { LAYERS } from './layers.ts'
import { lstm } from './lstm.ts'
import { coremlShape, createNetwork, isFloat, type Network, type Shape } from './network.ts'
import { POINTWISE } from './pointwise.ts'
import { REARRANGING } from './rearranging.ts'
import { coremlModel } from './schema.ts'
import type { Message } from './schema-fields.ts'
import type { Rule, Step } from './step.ts'

const RULES: Readonly<Record<string, Rule>> = { ...POINTWISE, ...REARRANGING, ...LAYERS, LSTM: lstm, GRU: gru }

/** iOS 13, macOS 10.15: layers of any number of dimensions. */
const SPECIFICATION_VERSION = 4
const EXACT_ARRAY_MAPPING = 1
const FLOAT32 = 65568
const INT32 = 131104

const ruleOf = ({ domain, type }: OnnxNode): Rule | undefined => {
  const rules = domain === '' ? RULES : domain === 'ai.onnx.ml' ? CLASSICAL : {}
  return Object.hasOwn(rules, type) ? rules[type] : undefined
}

type Values = ReturnType<typeof analyze>

const stepOf = (node: OnnxNode, network: Network, { values, constants, contextOf }: Values): Step => {
  const context = contextOf(node)
  const shapeOf = (name: string): Shape => {
    const found = values.get(name)?.shape
    if (found === undefined)
      throw badRequest(`The shape of '${name}' depends on data, which Core ML's layers do not allow.`)
    return found
  }
  const value = (at: number): string => {
    const name = node.inputs[at] ?? ''
    if (name === '') throw badRequest(`Its input ${at + 1} is missing.`)
    const constant = network.shapes.has(name) ? undefined : constants.get(name)
    if (constant === undefined) return name
    const shape = coremlShape(constant.shape)
    return network.constant(numbersOf(constant), shape)
  }
  const outputs = node.outputs.map((name) => [name, name === '' ? [] : coremlShape(shapeOf(name))] as const)
  const [output, result] = outputs[0] ?? ['', []]
  return {
    net: network,
    context,
    value,
    shape: (at) => coremlShape(shapeOf(node.inputs[at] ?? '')),
    output,
    result,
    outputs,
    emit: (kind, params = {}, inputs = []) => void network.add(kind, params, inputs, result, output),
    add: (kind, params = {}, inputs = [], shape = result) => network.add(kind, params, inputs, shape),
  }
}

const convertNode = (node: OnnxNode, network: Network, values: Values): void => {
  const rule = ruleOf(node)
  if (rule === undefined) {
    throw badRequest(
      `${nodeLabel(node)}: Core ML conversion does not support this operator. Replace it before the export, or use another format.`,
    )
  }
  try {
    rule(stepOf(node, network, values))
  } catch (error) {
    const isKnown = error instanceof ServiceError || error instanceof DataDependent
    const message = error instanceof Error ? error.message : String(error)
    throw badRequest(`${nodeLabel(node)}: ${isKnown ? message : `it is damaged (${message}).`}`)
  }
}

/** Maps of scores are scores: Core ML's outputs are arrays. */
const withoutMaps = (graph: OnnxGraph): OnnxGraph => ({
  ...graph,
  nodes: graph.nodes.map((node) =>
    node.type === 'ZipMap' ? { ...node, type: 'Identity', domain: '', attributes: {} } : node,
  ),
  outputs: graph.outputs.map(({ container, keyType, ...output }) =>
    container === undefined ? output : { ...output, type: 'f32', shape: null },
  ),
})

const arrayFeature = (name: string, shape: Shape, isInteger: boolean): Message => ({
  name,
  type: { multiArrayType: { shape: [...shape], dataType: isInteger ? INT32 : FLOAT32 } },
})

/** Labels that are text are left out: a network's outputs are numbers. */
const numericOutputs = (graph: OnnxGraph, notes: string[]): OnnxGraph => {
  const outputs = graph.outputs.filter(({ type }) => type !== 'string')
  if (outputs.length === 0) throw badRequest('All outputs of the model are text; Core ML networks output numbers.')
  for (const { name, type } of graph.outputs) {
    if (type === 'string')
      notes.push(`The output '${name}' (labels as text) is left out: take the class with the highest score.`)
  }
  const needed = new Set(outputs.map(({ name }) => name))
  const nodes = [...graph.nodes].reverse().filter((node) => {
    if (!node.outputs.some((name) => needed.has(name))) return false
    for (const name of node.inputs) needed.add(name)
    return true
  })
  return { ...graph, outputs, nodes: nodes.reverse() }
}

/**
 * The model as a Core ML `.mlmodel`: a neural network of specification version 4 (iOS 13, macOS 10.15), with fixed shapes.
 * A dimension with a name takes its size from `inputShape`, else 1. Throws bad_request that names the operator and the
 * node where Core ML has no layer for it. Source: Apple's protocol, coremltools/mlmodel/format.
 */
export const onnxToCoreml = (
  model: OnnxModel,
  { inputShape }: { readonly inputShape?: readonly number[] } = {},
): { bytes: Uint8Array; notes: string[] } => {
  const notes: string[] = []
  const plain = { ...model, graph: numericOutputs(withoutMaps(model.graph), notes) }
  const folded = foldConstants(plain, inputShape)
  const { graph } = folded
  const values = analyze(folded, inputShape)
  const network = createNetwork([
    ...graph.inputs.map(({ name }) => name),
    ...graph.outputs.map(({ name }) => name),
    ...graph.nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]),
  ])
  const inputs = graph.inputs.map(({ name, type }) => {
    const shape = values.values.get(name)?.shape
    if (shape === undefined || type === 'string')
      throw badRequest(`The input '${name}' has no shape, or is text. Give --input-shape.`)
    if (elementCount(shape) === 0) throw badRequest(`The input '${name}' is empty: [${shape.join(', ')}].`)
    if (shape.length > 5) throw badRequest(`The input '${name}' has ${shape.length} dimensions; Core ML takes up to 5.`)
    network.shapes.set(name, coremlShape(shape))
    return arrayFeature(name, coremlShape(shape), !isFloat(type))
  })
  for (const node of graph.nodes) convertNode(node, network, values)
  const outputs = graph.outputs.map(({ name, type }) => {
    const constant = values.constants.get(name)
    if (!network.shapes.has(name) && constant !== undefined) {
      const kept = network.constant(numbersOf(constant), coremlShape(constant.shape))
      network.add('activation', { linear: { alpha: 1, beta: 0 } }, [kept], coremlShape(constant.shape), name)
    }
    const shape = network.shapes.get(name)
    if (shape === undefined) throw badRequest(`Nothing computes the output '${name}'.`)
    return arrayFeature(name, shape, !isFloat(type))
  })
  notes.push("Apple's runtime has not run the result: compare its outputs on a device.")
  const bytes = encodeMessage(coremlModel, {
    specificationVersion: SPECIFICATION_VERSION,
    description: {
      input: inputs,
      output: outputs,
      metadata: { userDefined: [{ key: 'creator', value: 'tributary' }] },
    },
    neuralNetwork: { layers: network.layers, arrayInputShapeMapping: EXACT_ARRAY_MAPPING },
  })
  return { bytes, notes }
}
