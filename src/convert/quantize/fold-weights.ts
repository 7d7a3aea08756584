import { ServiceError } from '../../domain/errors.ts'
import { analyze } from '../onnx/infer-shapes.ts'
import type { OnnxModel } from '../onnx/model.ts'
import { liftConstants } from './graph-edit.ts'

/** Operators that exporters put between a weight and its use. None of them outputs more elements than its inputs have. */
const REARRANGING = new Set(['Transpose', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Split', 'Slice', 'Concat'])

/** The largest result, in elements: 256 MB of float32. */
const MAX_ELEMENTS = 2 ** 26

/**
 * Transposes, splits, and joins weights ahead of time, so that nodes use them directly for any input shapes. A weight that
 * is used in two forms is stored twice. Returns the model unchanged if this fails.
 */
export const foldWeights = (model: OnnxModel): OnnxModel => {
  const graph = liftConstants(model.graph)
  const isOutput = new Set(graph.outputs.map(({ name }) => name))
  const isInput = new Set(graph.inputs.map(({ name }) => name))
  const known = new Set([...graph.initializers.keys()].filter((name) => !isInput.has(name)))
  const rearranging = graph.nodes.filter(({ domain, type, inputs, outputs }) => {
    const isConstant = domain === '' && REARRANGING.has(type) && inputs.every((name) => name === '' || known.has(name))
    if (!isConstant || outputs.some((name) => isOutput.has(name))) return false
    for (const name of outputs) known.add(name)
    return true
  })
  try {
    const part = { ...graph, inputs: [], outputs: [], values: [], nodes: rearranging }
    const { constants } = analyze({ ...model, graph: part }, undefined, MAX_ELEMENTS)
    const isFolded = new Set(
      rearranging.filter(({ outputs }) => outputs.every((name) => name === '' || constants.has(name))),
    )
    return {
      ...model,
      graph: { ...graph, initializers: constants, nodes: graph.nodes.filter((node) => !isFolded.has(node)) },
    }
  } catch (error) {
    if (error instanceof ServiceError) return model
    throw error
  }
}
