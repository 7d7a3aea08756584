// Models, graphs, and nodes of onnx.proto (onnx 1.23, IR version 13), without the parts for training.
import { type MessageType, many, one } from '../protobuf/message.ts'
import {
  type StringEntry,
  stringEntry,
  type TensorProto,
  tensorProto,
  type ValueInfoProto,
  valueInfo,
} from './value-schema.ts'

export interface AttributeProto {
  name?: string
  f?: number
  i?: number
  s?: Uint8Array
  t?: TensorProto
  g?: GraphProto
  floats: number[]
  ints: number[]
  strings: Uint8Array[]
  type?: number
}

export interface NodeProto {
  input: string[]
  output: string[]
  name?: string
  opType?: string
  attribute: AttributeProto[]
  domain?: string
}

export interface SparseTensorProto {
  values?: TensorProto
}

export interface GraphProto {
  node: NodeProto[]
  name?: string
  initializer: TensorProto[]
  input: ValueInfoProto[]
  output: ValueInfoProto[]
  valueInfo: ValueInfoProto[]
  sparseInitializer: SparseTensorProto[]
}

export interface FunctionProto {
  name?: string
}

export interface OpsetProto {
  domain?: string
  version?: number
}

export interface ModelProto {
  irVersion?: number
  producerName?: string
  graph?: GraphProto
  opsetImport: OpsetProto[]
  metadataProps: StringEntry[]
  functions: FunctionProto[]
}

const attributeProto: MessageType<AttributeProto> = {
  name: 'AttributeProto',
  fields: {
    name: one(1, 'string'),
    f: one(2, 'float'),
    i: one(3, 'int64'),
    s: one(4, 'bytes'),
    t: one(5, () => tensorProto),
    g: one(6, () => graphProto),
    floats: many(7, 'float'),
    ints: many(8, 'int64'),
    strings: many(9, 'bytes'),
    type: one(20, 'int32'),
  },
}

const nodeProto: MessageType<NodeProto> = {
  name: 'NodeProto',
  fields: {
    input: many(1, 'string'),
    output: many(2, 'string'),
    name: one(3, 'string'),
    opType: one(4, 'string'),
    attribute: many(5, () => attributeProto),
    domain: one(7, 'string'),
  },
}

const sparseTensor: MessageType<SparseTensorProto> = {
  name: 'SparseTensorProto',
  fields: { values: one(1, () => tensorProto) },
}

const graphProto: MessageType<GraphProto> = {
  name: 'GraphProto',
  fields: {
    node: many(1, () => nodeProto),
    name: one(2, 'string'),
    initializer: many(5, () => tensorProto),
    input: many(11, () => valueInfo),
    output: many(12, () => valueInfo),
    valueInfo: many(13, () => valueInfo),
    sparseInitializer: many(15, () => sparseTensor),
  },
}

const opset: MessageType<OpsetProto> = {
  name: 'OperatorSetIdProto',
  fields: { domain: one(1, 'string'), version: one(2, 'int64') },
}

const functionProto: MessageType<FunctionProto> = { name: 'FunctionProto', fields: { name: one(1, 'string') } }

export const modelProto: MessageType<ModelProto> = {
  name: 'ModelProto',
  fields: {
    irVersion: one(1, 'int64'),
    producerName: one(2, 'string'),
    graph: one(7, () => graphProto),
    opsetImport: many(8, () => opset),
    metadataProps: many(14, () => stringEntry),
    functions: many(25, () => functionProto),
  },
}
