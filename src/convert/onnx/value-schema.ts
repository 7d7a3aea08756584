// Tensors and value types of onnx.proto (onnx 1.23, IR version 13).
import { type MessageType, many, one } from '../protobuf/message.ts'

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

export const stringEntry: MessageType<StringEntry> = {
  name: 'StringStringEntryProto',
  fields: { key: one(1, 'string'), value: one(2, 'string') },
}

export const tensorProto: MessageType<TensorProto> = {
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
    externalData: many(13, () => stringEntry),
    dataLocation: one(14, 'int32'),
  },
}

const dimension: MessageType<DimensionProto> = {
  name: 'TensorShapeProto.Dimension',
  fields: { dimValue: one(1, 'int64'), dimParam: one(2, 'string') },
}

const shape: MessageType<{ dim: DimensionProto[] }> = {
  name: 'TensorShapeProto',
  fields: { dim: many(1, () => dimension) },
}

const tensorType: MessageType<NonNullable<TypeProto['tensorType']>> = {
  name: 'TypeProto.Tensor',
  fields: { elemType: one(1, 'int32'), shape: one(2, () => shape) },
}

const sequenceType: MessageType<NonNullable<TypeProto['sequenceType']>> = {
  name: 'TypeProto.Sequence',
  fields: { elemType: one(1, () => typeProto) },
}

const mapType: MessageType<NonNullable<TypeProto['mapType']>> = {
  name: 'TypeProto.Map',
  fields: { keyType: one(1, 'int32'), valueType: one(2, () => typeProto) },
}

const typeProto: MessageType<TypeProto> = {
  name: 'TypeProto',
  fields: {
    tensorType: one(1, () => tensorType),
    sequenceType: one(4, () => sequenceType),
    mapType: one(5, () => mapType),
  },
}

export const valueInfo: MessageType<ValueInfoProto> = {
  name: 'ValueInfoProto',
  fields: { name: one(1, 'string'), type: one(2, () => typeProto) },
}
