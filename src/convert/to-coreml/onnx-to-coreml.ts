import { errorMessage } from '../../domain/error-message.ts'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
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

/** iOS 13, macOS 10.15: layers with any number of dimensions. */
const SPECIFICATION_VERSION = 4
const EXACT_ARRAY_MAPPING = 1
const FLOAT32 = 65568
const INT32 = 131104

const ruleOf = ({ domain, type }: OnnxNode): Rule | undefined => {
  const rules = domain === '' ? RULES : domain === 'ai.onnx.ml' ? CLASSICAL : {}
  return ownEntry(rules, type)
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
    const message = errorMessage(error)
    throw badRequest(`${nodeLabel(node)}: ${isKnown ? message : `it is damaged (${message}).`}`)
  }
}

/** Replaces maps of scores with arrays of scores, because Core ML's outputs are arrays. */
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

/** Omits text labels, because a network's outputs are numbers. */
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

/** Integers that float32 holds exactly. */
const EXACT_INTEGERS = 2 ** 24

/** Operators that pass indices on or look something up with them. */
const LOOKUPS: ReadonlySet<string> = new Set(
  'Gather GatherElements GatherND Cast Reshape Squeeze Unsqueeze Flatten Identity Transpose Slice Equal Shape'.split(
    ' ',
  ),
)

/** True if integers that float32 does not hold exactly may be computed, or are labels. */
const mayRound = ({ inputs, nodes, initializers }: OnnxGraph): boolean => {
  const isInteger = (type: string): boolean => /^[iu](32|64)$/.test(type)
  const given = new Set(inputs.flatMap(({ name, type }) => (isInteger(type) ? [name] : [])))
  const isLarge = (name: string): boolean => {
    const tensor = initializers.get(name)
    if (tensor === undefined || !isInteger(tensor.type)) return false
    return numbersOf(tensor).some((value) => Math.abs(value) > EXACT_INTEGERS)
  }
  return nodes.some((node) =>
    LOOKUPS.has(node.type)
      ? node.type.startsWith('Gather') && isLarge(node.inputs[0] ?? '')
      : node.inputs.some((name) => given.has(name) || isLarge(name)),
  )
}

/**
 * Converts the model to a Core ML `.mlmodel`: a neural network of specification version 4 (iOS 13, macOS 10.15) with fixed
 * shapes. Named dimensions get their size from `inputShape`, otherwise 1. Throws bad_request naming the operator and node if
 * Core ML has no layer for it. Source: Apple's protocol, coremltools/mlmodel/format.
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
  if (mayRound(graph)) {
    notes.push(`Core ML computes integers in float32, so those above ${EXACT_INTEGERS} in size are rounded.`)
  }
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
