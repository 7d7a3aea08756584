// The messages of onnx.proto (onnx 1.23, IR version 13) that models without training information use.
import { type MessageType, many, of, one } from '../protobuf/message.ts'

export interface StringEntry {
  key?: string
  value?: string
}

export interface TensorProto {
  dims: number[]
  dataType?: number
  floatData: number[]
  int32Data: number[]
  stringData: Uint8Array[]
  int64Data: number[]
  name?: string
  rawData?: Uint8Array
  doubleData: number[]
  uint64Data: number[]
  externalData: StringEntry[]
  dataLocation?: number
}

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

export interface DimensionProto {
  dimValue?: number
  dimParam?: string
}

export interface TypeProto {
  tensorType?: { elemType?: number; shape?: { dim: DimensionProto[] } }
  sequenceType?: { elemType?: TypeProto }
  mapType?: { keyType?: number; valueType?: TypeProto }
}

export interface ValueInfoProto {
  name?: string
  type?: TypeProto
}

export interface GraphProto {
  node: NodeProto[]
  name?: string
  initializer: TensorProto[]
  input: ValueInfoProto[]
  output: ValueInfoProto[]
  valueInfo: ValueInfoProto[]
}

export interface FunctionProto {
  name?: string
  input: string[]
  output: string[]
  attribute: string[]
  node: NodeProto[]
  opsetImport: OpsetProto[]
  domain?: string
}

export interface OpsetProto {
  domain?: string
  version?: number
}

export interface ModelProto {
  irVersion?: number
  producerName?: string
  producerVersion?: string
  graph?: GraphProto
  opsetImport: OpsetProto[]
  metadataProps: StringEntry[]
  functions: FunctionProto[]
}

const stringEntry: MessageType<StringEntry> = {
  name: 'StringStringEntryProto',
  fields: { key: one(1, 'string'), value: one(2, 'string') },
}

const tensorProto: MessageType<TensorProto> = {
  name: 'TensorProto',
  fields: {
    dims: many(1, 'int64'),
    dataType: one(2, 'int32'),
    floatData: many(4, 'float'),
    int32Data: many(5, 'int32'),
    stringData: many(6, 'bytes'),
    int64Data: many(7, 'int64'),
    name: one(8, 'string'),
    rawData: one(9, 'bytes'),
    doubleData: many(10, 'double'),
    uint64Data: many(11, 'uint64'),
    externalData: many(
      13,
      of(() => stringEntry),
    ),
    dataLocation: one(14, 'int32'),
  },
}

const attributeProto: MessageType<AttributeProto> = {
  name: 'AttributeProto',
  fields: {
    name: one(1, 'string'),
    f: one(2, 'float'),
    i: one(3, 'int64'),
    s: one(4, 'bytes'),
    t: one(
      5,
      of(() => tensorProto),
    ),
    g: one(
      6,
      of(() => graphProto),
    ),
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
    attribute: many(
      5,
      of(() => attributeProto),
    ),
    domain: one(7, 'string'),
  },
}

const dimension: MessageType<DimensionProto> = {
  name: 'TensorShapeProto.Dimension',
  fields: { dimValue: one(1, 'int64'), dimParam: one(2, 'string') },
}

const shape: MessageType<{ dim: DimensionProto[] }> = {
  name: 'TensorShapeProto',
  fields: {
    dim: many(
      1,
      of(() => dimension),
    ),
  },
}

const tensorType: MessageType<NonNullable<TypeProto['tensorType']>> = {
  name: 'TypeProto.Tensor',
  fields: {
    elemType: one(1, 'int32'),
    shape: one(
      2,
      of(() => shape),
    ),
  },
}

const sequenceType: MessageType<NonNullable<TypeProto['sequenceType']>> = {
  name: 'TypeProto.Sequence',
  fields: {
    elemType: one(
      1,
      of(() => typeProto),
    ),
  },
}

const mapType: MessageType<NonNullable<TypeProto['mapType']>> = {
  name: 'TypeProto.Map',
  fields: {
    keyType: one(1, 'int32'),
    valueType: one(
      2,
      of(() => typeProto),
    ),
  },
}

const typeProto: MessageType<TypeProto> = {
  name: 'TypeProto',
  fields: {
    tensorType: one(
      1,
      of(() => tensorType),
    ),
    sequenceType: one(
      4,
      of(() => sequenceType),
    ),
    mapType: one(
      5,
      of(() => mapType),
    ),
  },
}

const valueInfo: MessageType<ValueInfoProto> = {
  name: 'ValueInfoProto',
  fields: {
    name: one(1, 'string'),
    type: one(
      2,
      of(() => typeProto),
    ),
  },
}

const graphProto: MessageType<GraphProto> = {
  name: 'GraphProto',
  fields: {
    node: many(
      1,
      of(() => nodeProto),
    ),
    name: one(2, 'string'),
    initializer: many(
      5,
      of(() => tensorProto),
    ),
    input: many(
      11,
      of(() => valueInfo),
    ),
    output: many(
      12,
      of(() => valueInfo),
    ),
    valueInfo: many(
      13,
      of(() => valueInfo),
    ),
  },
}

const opset: MessageType<OpsetProto> = {
  name: 'OperatorSetIdProto',
  fields: { domain: one(1, 'string'), version: one(2, 'int64') },
}

const functionProto: MessageType<FunctionProto> = {
  name: 'FunctionProto',
  fields: {
    name: one(1, 'string'),
    input: many(4, 'string'),
    output: many(5, 'string'),
    attribute: many(6, 'string'),
    node: many(
      7,
      of(() => nodeProto),
    ),
    opsetImport: many(
      9,
      of(() => opset),
    ),
    domain: one(10, 'string'),
  },
}

export const modelProto: MessageType<ModelProto> = {
  name: 'ModelProto',
  fields: {
    irVersion: one(1, 'int64'),
    producerName: one(2, 'string'),
    producerVersion: one(3, 'string'),
    graph: one(
      7,
      of(() => graphProto),
    ),
    opsetImport: many(
      8,
      of(() => opset),
    ),
    metadataProps: many(
      14,
      of(() => stringEntry),
    ),
    functions: many(
      25,
      of(() => functionProto),
    ),
  },
}
