import { guarded } from '../onnx/infer-shapes.ts'
import type { ElementType, OnnxModel, OnnxNode, OnnxTensor, OnnxValue } from '../onnx/model.ts'
import { OPERATOR_NAMES, type OperatorName } from './operator-names.ts'
import { codeOf, TENSOR_TYPES } from './schema.ts'
import { readTflite } from './tflite-file.ts'

/** The operators needed to draw samples and to recognize classifiers. */
const ONNX_NAMES: Partial<Record<OperatorName, string>> = {
  ADD: 'Add',
  BATCH_MATMUL: 'MatMul',
  CAST: 'Cast',
  FULLY_CONNECTED: 'Gemm',
  GATHER: 'Gather',
  LOG_SOFTMAX: 'LogSoftmax',
  RESHAPE: 'Reshape',
  SELECT_V2: 'Where',
  SOFTMAX: 'Softmax',
  SQUEEZE: 'Squeeze',
}

/**
 * Describes the first signature of a .tflite file as an ONNX graph that is never run: inputs and outputs by their names for
 * callers, the shapes of constants, and the operators. Throws bad_request if the file is not a TFLite model.
 */
export const tfliteOutline = (bytes: Uint8Array): OnnxModel =>
  guarded('The TFLite model', () => {
    const { signatureDefs, subgraphs, operatorCodes, buffers } = readTflite(bytes)
    const signature = signatureDefs?.[0]
    const graph = subgraphs?.[signature?.subgraphIndex ?? 0] ?? {}
    const tensors = graph.tensors ?? []
    const names = new Map<number, string>()
    const valuesOf = (which: 'inputs' | 'outputs'): OnnxValue[] => {
      const named = graph[which]?.map((tensorIndex) => ({ tensorIndex, name: tensors[tensorIndex]?.name ?? '' }))
      return (signature?.[which] ?? named ?? []).map(({ name = '', tensorIndex = 0 }) => {
        names.set(tensorIndex, name)
        const { type = 0, shape = [] } = tensors[tensorIndex] ?? {}
        return { name, type: TENSOR_TYPES[type] as ElementType, shape }
      })
    }
    const [inputs, outputs] = [valuesOf('inputs'), valuesOf('outputs')]
    const nameOf = (index: number): string => (index < 0 ? '' : (names.get(index) ?? `#${index}`))
    const initializers = new Map<string, OnnxTensor>()
    for (const [index, { type = 0, shape = [], buffer = 0 }] of tensors.entries()) {
      const data = buffers?.[buffer]?.data
      if (data?.length) initializers.set(nameOf(index), { type: TENSOR_TYPES[type] as ElementType, shape, data })
    }
    const nodes = (graph.operators ?? []).map((operator): OnnxNode => {
      const name = OPERATOR_NAMES[codeOf(operatorCodes?.[operator.opcodeIndex ?? 0] ?? {})] ?? 'CUSTOM'
      const [from, to] = [(operator.inputs ?? []).map(nameOf), (operator.outputs ?? []).map(nameOf)]
      // EMBEDDING_LOOKUP takes the index before the table.
      const [type, given] = name === 'EMBEDDING_LOOKUP' ? ['Gather', from.reverse()] : [ONNX_NAMES[name] ?? name, from]
      return { name: '', type, domain: '', inputs: given, outputs: to, attributes: {} }
    })
    return {
      irVersion: 0,
      opsets: {},
      graph: { name: '', inputs, outputs, initializers, nodes, values: [] },
      metadata: {},
    }
  })
