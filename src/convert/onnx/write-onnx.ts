import { encodeMessage } from '../protobuf/message.ts'
import {
  type Attribute,
  numberOfElementType,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValue,
} from './model.ts'
import { type AttributeProto, type GraphProto, modelProto, type NodeProto } from './schema.ts'
import type { TensorProto, TypeProto, ValueInfoProto } from './value-schema.ts'

const utf8 = new TextEncoder()

const tensorProtoOf = (tensor: OnnxTensor, name: string): TensorProto => ({
  dims: [...tensor.shape],
  dataType: numberOfElementType(tensor.type),
  name,
  floatData: [],
  int32Data: [],
  int64Data: [],
  doubleData: [],
  uint64Data: [],
  externalData: [],
  stringData: tensor.type === 'string' ? [...(tensor.strings ?? [])] : [],
  ...(tensor.type === 'string' ? {} : { rawData: tensor.data }),
})

const attributeProtoOf = (name: string, attribute: Attribute): AttributeProto => {
  const empty: AttributeProto = { name, floats: [], ints: [], strings: [] }
  switch (attribute.kind) {
    case 'float':
      return { ...empty, type: 1, f: attribute.value }
    case 'int':
      return { ...empty, type: 2, i: attribute.value }
    case 'string':
      return { ...empty, type: 3, s: utf8.encode(attribute.value) }
    case 'tensor':
      return { ...empty, type: 4, t: tensorProtoOf(attribute.value, name) }
    case 'graph':
      return { ...empty, type: 5, g: graphProtoOf(attribute.value) }
    case 'floats':
      return { ...empty, type: 6, floats: [...attribute.value] }
    case 'ints':
      return { ...empty, type: 7, ints: [...attribute.value] }
    case 'strings':
      return { ...empty, type: 8, strings: attribute.value.map((value) => utf8.encode(value)) }
  }
}

const nodeProtoOf = (node: OnnxNode): NodeProto => ({
  input: [...node.inputs],
  output: [...node.outputs],
  name: node.name,
  opType: node.type,
  attribute: Object.entries(node.attributes).map(([name, attribute]) => attributeProtoOf(name, attribute)),
  ...(node.domain === '' ? {} : { domain: node.domain }),
})

const typeProtoOf = ({ type, shape, container, keyType }: OnnxValue): TypeProto => {
  const tensorType = {
    elemType: numberOfElementType(type),
    ...(shape === null
      ? {}
      : {
          shape: {
            dim: shape.map((size) =>
              typeof size === 'number' ? { dimValue: size } : size === '' ? {} : { dimParam: size },
            ),
          },
        }),
  }
  if (container === undefined) return { tensorType }
  if (container === 'sequence') return { sequenceType: { elemType: { tensorType } } }
  const mapType = { keyType: numberOfElementType(keyType ?? 'i64'), valueType: { tensorType } }
  return container === 'map' ? { mapType } : { sequenceType: { elemType: { mapType } } }
}

const valueProtoOf = (value: OnnxValue): ValueInfoProto => ({ name: value.name, type: typeProtoOf(value) })

const graphProtoOf = (graph: OnnxGraph): GraphProto => ({
  node: graph.nodes.map(nodeProtoOf),
  name: graph.name,
  initializer: [...graph.initializers].map(([name, tensor]) => tensorProtoOf(tensor, name)),
  input: graph.inputs.map(valueProtoOf),
  output: graph.outputs.map(valueProtoOf),
  valueInfo: graph.values.map(valueProtoOf),
  sparseInitializer: [],
})

/** Encodes an `.onnx` file. */
export const writeOnnx = (model: OnnxModel): Uint8Array<ArrayBuffer> =>
  encodeMessage(modelProto, {
    irVersion: model.irVersion,
    producerName: 'tributary',
    graph: graphProtoOf(model.graph),
    opsetImport: Object.entries(model.opsets).map(([domain, version]) => ({ domain, version })),
    metadataProps: Object.entries(model.metadata).map(([key, value]) => ({ key, value })),
    functions: [],
  })
