import { decodeElements } from '../../tensors/elements.ts'
import {
  type Attribute,
  int,
  numberOfElementType,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValue,
} from './model.ts'
import { tensorOf } from './tensors.ts'

const BFLOAT16 = numberOfElementType('bf16')
const FLOAT = numberOfElementType('f32')

/** Attributes that contain the number of an element type. */
const TYPES: ReadonlySet<string> = new Set(['to', 'dtype', 'output_dtype'])

const tensor = (given: OnnxTensor): OnnxTensor =>
  given.type === 'bf16' ? tensorOf('f32', given.shape, decodeElements(given.data, 'bf16')) : given

const value = (given: OnnxValue): OnnxValue => (given.type === 'bf16' ? { ...given, type: 'f32' } : given)

const attribute = (name: string, given: Attribute): Attribute => {
  if (given.kind === 'tensor') return { kind: 'tensor', value: tensor(given.value) }
  if (given.kind === 'graph') return { kind: 'graph', value: graph(given.value) }
  return given.kind === 'int' && given.value === BFLOAT16 && TYPES.has(name) ? int(FLOAT) : given
}

const node = (given: OnnxNode): OnnxNode => ({
  ...given,
  attributes: Object.fromEntries(
    Object.entries(given.attributes).map(([name, own]) => [name, attribute(name, own)] as const),
  ),
})

const graph = (given: OnnxGraph): OnnxGraph => ({
  ...given,
  inputs: given.inputs.map(value),
  outputs: given.outputs.map(value),
  values: given.values.map(value),
  initializers: new Map([...given.initializers].map(([name, own]) => [name, tensor(own)])),
  nodes: given.nodes.map(node),
})

const hasBfloat16 = ({ inputs, outputs, values, initializers, nodes }: OnnxGraph): boolean =>
  [...inputs, ...outputs, ...values, ...initializers.values()].some(({ type }) => type === 'bf16') ||
  nodes.some(({ attributes }) =>
    Object.entries(attributes).some(
      ([name, { kind, value: own }]) =>
        (kind === 'tensor' && own.type === 'bf16') ||
        (kind === 'graph' && hasBfloat16(own)) ||
        (kind === 'int' && own === BFLOAT16 && TYPES.has(name)),
    ),
  )

/** Replaces bfloat16, which onnxruntime has no kernels for, by float32; adds a note if there is any. */
export const withoutBfloat16 = (model: OnnxModel): { readonly model: OnnxModel; readonly notes: readonly string[] } =>
  hasBfloat16(model.graph)
    ? {
        model: { ...model, graph: graph(model.graph) },
        notes: ['bfloat16 is float32 in ONNX, because onnxruntime does not compute with bfloat16.'],
      }
    : { model, notes: [] }
