import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { foldConstants } from '../onnx/fold-constants.ts'
import { analyze, guarded, type InputShapes } from '../onnx/infer-shapes.ts'
import { elementCount, nodeLabel, type OnnxModel, type OnnxNode, type OnnxValue } from '../onnx/model.ts'
import { DataDependent } from '../onnx/node-context.ts'
import { graphValues, type Lower, lowerNode, tfliteType } from './lowering.ts'
import { CLASSICAL } from './operators/classical.ts'
import { ELEMENTWISE } from './operators/elementwise.ts'
import { GATHERING } from './operators/gathering.ts'
import { MATRIX } from './operators/matrix.ts'
import { NORMALIZATION } from './operators/normalization.ts'
import { QUANTIZED } from './operators/quantized.ts'
import { RECURRENT } from './operators/recurrent.ts'
import { REDUCTIONS } from './operators/reductions.ts'
import { RESIZING } from './operators/resizing.ts'
import { SHAPING } from './operators/shaping.ts'
import { TREES } from './operators/trees.ts'
import { WINDOWS } from './operators/windows.ts'
import { type Tensor, tfliteGraph } from './tflite-graph.ts'

const OPERATORS: Readonly<Record<string, Lower>> = {
  ...ELEMENTWISE,
  ...MATRIX,
  ...QUANTIZED,
  ...RECURRENT,
  ...NORMALIZATION,
  ...REDUCTIONS,
  ...RESIZING,
  ...GATHERING,
  ...SHAPING,
  ...WINDOWS,
}
const OPERATORS_ML: Readonly<Record<string, Lower>> = { ...CLASSICAL, ...TREES }

const lowerOf = (node: OnnxNode): Lower => {
  const table = node.domain === '' ? OPERATORS : node.domain === 'ai.onnx.ml' ? OPERATORS_ML : {}
  const found = ownEntry(table, node.type)
  if (found === undefined) {
    const domain = node.domain === '' ? '' : ` of ${node.domain}`
    throw badRequest(
      `the operator ${node.type}${domain} cannot be converted to TFLite; deliver this model as ONNX instead.`,
    )
  }
  return found
}

/** Removes the ZipMap that creates maps of a classifier's scores: the output becomes the scores as a tensor. */
const withoutMaps = (model: OnnxModel): OnnxModel => {
  const { graph } = model
  const maps = new Map(
    graph.nodes.filter(({ type }) => type === 'ZipMap').map((node) => [node.outputs[0] ?? '', node.inputs[0] ?? '']),
  )
  if (maps.size === 0) return model
  const nodes = graph.nodes.map((node) =>
    node.type === 'ZipMap' ? { ...node, type: 'Identity', domain: '', attributes: {} } : node,
  )
  const outputs = graph.outputs.map(
    (output): OnnxValue => (maps.has(output.name) ? { name: output.name, type: 'f32', shape: null } : output),
  )
  return { ...model, graph: { ...graph, nodes, outputs } }
}

/** 256 MB of float32. */
const MAX_ELEMENTS = 2 ** 26

const requireSize = (name: string, shape: readonly number[]): void => {
  const elements = elementCount(shape)
  if (elements === 0) throw badRequest(`the value '${name}' of [${shape.join(', ')}] is empty.`)
  if (elements <= MAX_ELEMENTS) return
  throw badRequest(
    `the value '${name}' of [${shape.join(', ')}] has more than ${MAX_ELEMENTS} elements. Give a smaller input shape.`,
  )
}

export interface Converted {
  readonly bytes: Uint8Array
  /** Notes for the user about the result. */
  readonly notes: string[]
}

const MAX_NAMED_CLASSES = 50

/** The lists of strings that labels are taken from. */
const classNames = ({ graph }: OnnxModel): string[][] => {
  const utf8 = new TextDecoder()
  const lists = graph.nodes.flatMap((node) => {
    const attribute = node.attributes.classlabels_strings
    const list = node.type === 'Gather' ? graph.initializers.get(node.inputs[0] ?? '')?.strings : undefined
    if (list !== undefined) return [list.map((text) => utf8.decode(text))]
    return attribute?.kind === 'strings' && attribute.value.length > 0 ? [[...attribute.value]] : []
  })
  return lists.map((list) => list.slice(0, MAX_NAMED_CLASSES))
}

const notesOf = (model: OnnxModel, folded: OnnxModel): string[] => {
  const values = [...model.graph.inputs, ...model.graph.outputs]
  const named = model.graph.inputs.flatMap(({ shape }) => shape ?? []).filter((size) => typeof size === 'string')
  const others = values.filter(({ type }) => type === 'f64' || type === 'f16' || type === 'bf16')
  const texts = model.graph.outputs.filter(({ type }) => type === 'string').map(({ name }) => name)
  const classes = classNames(folded).map((list) => list.map((name, at) => `${at} ${name}`).join(', '))
  return [
    ...(named.length > 0
      ? ['TFLite models have fixed shapes: dynamic dimensions take their sizes from the input shape, or are 1.']
      : []),
    ...(others.length > 0 ? [`${others.map(({ name }) => name).join(', ')}: float32 in TFLite.`] : []),
    ...(texts.length > 0 ? [`${texts.join(', ')}: the number of the class, not its name: ${classes.join('; ')}.`] : []),
  ]
}

/**
 * Converts the ONNX model to a .tflite file (schema version 3, also named .litert). Inputs and outputs keep their ONNX
 * shapes, including channels first; inside, images have channels last. Throws bad_request naming the operator and node if
 * TFLite has no equivalent.
 */
export const onnxToTflite = (model: OnnxModel, options: { readonly inputShape?: InputShapes } = {}): Converted =>
  guarded('The model cannot be converted to TFLite', () => {
    const folded = foldConstants(withoutMaps(model), options.inputShape)
    const { values: shapes, constants, contextOf } = analyze(folded, options.inputShape)
    const graph = tfliteGraph('Converted from ONNX by Tributary.')
    for (const [name, { shape }] of shapes) if (!constants.has(name)) requireSize(name, shape)
    const values = graphValues(graph, shapes, constants)
    for (const input of folded.graph.inputs) {
      const known = shapes.get(input.name)
      if (known === undefined) throw badRequest(`the input '${input.name}' is not a tensor of known rank.`)
      values.set(input.name, graph.input(input.name, tfliteType(known.type, `The input '${input.name}'`), known.shape))
    }
    for (const node of folded.graph.nodes) {
      if (node.outputs.every((name) => name === '' || constants.has(name))) continue
      lower(node)
    }
    const taken = new Set(folded.graph.inputs.map(({ name }) => values.get(name).index))
    const outputs = folded.graph.outputs.map(({ name }) => {
      const tensor = outputTensor(values.get(name), taken)
      taken.add(tensor.index)
      return { name, tensor }
    })
    return { bytes: graph.bytes(outputs), notes: notesOf(model, folded) }

    function lower(node: OnnxNode): void {
      try {
        guarded(nodeLabel(node), () => lowerOf(node)(lowerNode(contextOf(node), graph, values, shapes)))
      } catch (error) {
        if (!(error instanceof DataDependent)) throw error
        throw badRequest(`${nodeLabel(node)}: ${error.message} TFLite needs it when the model is converted.`)
      }
    }

    /** A separate tensor for each output: not an input or another output. */
    function outputTensor(tensor: Tensor, used: ReadonlySet<number>): Tensor {
      if (!used.has(tensor.index)) return tensor
      const { shape } = tensor
      return graph.operator('RESHAPE', [tensor, graph.vector('i32', shape)], {}, { newShape: shape })
    }
  })
