import { badRequest } from '../../domain/errors.ts'
import { encodeElements } from '../../tensors/elements.ts'
import { decodeMessage } from '../protobuf/message.ts'
import {
  type Attribute,
  byteCount,
  ELEMENT_TYPES,
  type ElementType,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValue,
} from './model.ts'
import { requireSound } from './require-sound.ts'
import { type AttributeProto, type GraphProto, modelProto, type NodeProto } from './schema.ts'
import type { TensorProto, ValueInfoProto } from './value-schema.ts'

const utf8 = new TextDecoder()

const elementType = (number: number | undefined, where: string): ElementType => {
  const type = ELEMENT_TYPES[number ?? 0]
  if (type === undefined) throw badRequest(`${where}: ONNX element type ${number ?? 0} is not supported.`)
  return type
}

/** Elements from the typed lists instead of `raw_data`. */
const typedData = (proto: TensorProto, type: ElementType): Uint8Array => {
  if (type === 'string') return new Uint8Array(0)
  if (type === 'f32') return encodeElements(proto.floatData, 'f32')
  if (type === 'f64') return encodeElements(proto.doubleData, 'f64')
  if (type === 'i64') return encodeElements(proto.int64Data, 'i64')
  if (type === 'u64' || type === 'u32') return encodeElements(proto.uint64Data, type)
  // Halves are stored as their bits, and so are bytes with two 4-bit integers.
  if (type === 'f16' || type === 'bf16') return encodeElements(proto.int32Data, 'u16')
  if (type === 'u4' || type === 'i4') return Uint8Array.from(proto.int32Data)
  return encodeElements(proto.int32Data, type)
}

const readTensor = (proto: TensorProto): OnnxTensor => {
  const where = `The tensor '${proto.name ?? ''}'`
  if (proto.dataLocation === 1 || proto.externalData.length > 0) {
    throw badRequest(`${where} is stored in another file (external data). Save the model as one file.`)
  }
  const type = elementType(proto.dataType, where)
  const shape = proto.dims
  if (shape.some((size) => !Number.isSafeInteger(size) || size < 0)) {
    throw badRequest(`${where} has the shape [${shape.join(', ')}].`)
  }
  const data = proto.rawData ?? typedData(proto, type)
  const found = type === 'string' ? proto.stringData.length : data.length
  const expected = type === 'string' ? shape.reduce((product, size) => product * size, 1) : byteCount(type, shape)
  if (found !== expected) {
    throw badRequest(`${where} has ${found} bytes; its shape [${shape.join(', ')}] takes ${expected}.`)
  }
  return type === 'string' ? { type, shape, data, strings: proto.stringData } : { type, shape, data }
}

/** Old files omit the kind, which then follows from the field that is set. */
const kindOf = (proto: AttributeProto): number => {
  if (proto.type !== undefined && proto.type !== 0) return proto.type
  if (proto.f !== undefined) return 1
  if (proto.i !== undefined) return 2
  if (proto.s !== undefined) return 3
  if (proto.t !== undefined) return 4
  if (proto.g !== undefined) return 5
  if (proto.floats.length > 0) return 6
  if (proto.strings.length > 0) return 8
  return 7
}

const readAttribute = (proto: AttributeProto, where: string): Attribute => {
  const kind = kindOf(proto)
  if (kind === 1) return { kind: 'float', value: proto.f ?? 0 }
  if (kind === 2) return { kind: 'int', value: proto.i ?? 0 }
  if (kind === 3) return { kind: 'string', value: utf8.decode(proto.s) }
  if (kind === 4 && proto.t !== undefined) return { kind: 'tensor', value: readTensor(proto.t) }
  if (kind === 5 && proto.g !== undefined) return { kind: 'graph', value: readGraph(proto.g) }
  if (kind === 6) return { kind: 'floats', value: proto.floats }
  if (kind === 7) return { kind: 'ints', value: proto.ints }
  if (kind === 8) return { kind: 'strings', value: proto.strings.map((bytes) => utf8.decode(bytes)) }
  throw badRequest(`${where}: the attribute '${proto.name ?? ''}' is of a kind that is not supported (${kind}).`)
}

const readNode = (proto: NodeProto): OnnxNode => ({
  name: proto.name ?? '',
  type: proto.opType ?? '',
  domain: proto.domain === undefined || proto.domain === 'ai.onnx' ? '' : proto.domain,
  inputs: proto.input,
  outputs: proto.output,
  attributes: Object.fromEntries(
    proto.attribute.map((attribute) => [
      attribute.name ?? '',
      readAttribute(attribute, `${proto.opType ?? 'A node'} '${proto.name ?? proto.output[0] ?? ''}'`),
    ]),
  ),
})

/** Old exporters write -1 for a dynamic size. */
const sizeOf = (size: number | undefined, name: string | undefined, value: string): number | string => {
  if (size !== undefined && size < -1)
    throw badRequest(`The value '${value}' has a size of ${size} in its declared shape. Export the model again.`)
  return size === undefined || size === -1 ? (name ?? '') : size
}

const readValue = (proto: ValueInfoProto): OnnxValue => {
  const name = proto.name ?? ''
  const { tensorType, sequenceType, mapType } = proto.type ?? {}
  const map = mapType ?? sequenceType?.elemType?.mapType
  if (map !== undefined) {
    return {
      name,
      type: elementType(map.valueType?.tensorType?.elemType, `The value '${name}'`),
      keyType: elementType(map.keyType, `The value '${name}'`),
      shape: null,
      container: mapType === undefined ? 'sequence of maps' : 'map',
    }
  }
  const tensor = tensorType ?? sequenceType?.elemType?.tensorType
  const type = elementType(tensor?.elemType, `The value '${name}'`)
  const shape = tensor?.shape?.dim.map(({ dimValue, dimParam }) => sizeOf(dimValue, dimParam, name)) ?? null
  return tensorType === undefined ? { name, type, shape, container: 'sequence' } : { name, type, shape }
}

const readGraph = (proto: GraphProto): OnnxGraph => {
  const [sparse] = proto.sparseInitializer
  if (sparse !== undefined)
    throw badRequest(
      `The weights '${sparse.values?.name ?? ''}' are a sparse tensor. Export the model with dense weights.`,
    )
  const initializers = new Map(proto.initializer.map((tensor) => [tensor.name ?? '', readTensor(tensor)]))
  return {
    name: proto.name ?? '',
    inputs: proto.input.filter(({ name }) => !initializers.has(name ?? '')).map(readValue),
    outputs: proto.output.map(readValue),
    initializers,
    nodes: proto.node.map(readNode),
    // Only hints, so those of unknown kinds are ignored.
    values: proto.valueInfo.filter(({ type }) => type?.tensorType?.elemType !== undefined).map(readValue),
  }
}

/**
 * Reads the model in an `.onnx` file; its tensors are views of the bytes. Throws bad_request for other content, external
 * data, models that define their own functions, and graphs that cannot be run.
 */
export const readOnnx = (bytes: Uint8Array): OnnxModel => {
  const proto = decodeMessage(modelProto, bytes)
  if (proto.graph === undefined)
    throw badRequest('Not an ONNX model: it has no graph. Expected the content of an .onnx file.')
  if (proto.opsetImport.length === 0)
    throw badRequest(
      'The ONNX model does not say which operator sets it uses (opset_import); it must name at least one. Export it again.',
    )
  if (proto.functions.length > 0) {
    throw badRequest(
      `The model defines its own functions ('${proto.functions[0]!.name ?? ''}'). Inline them before the export.`,
    )
  }
  const graph = readGraph(proto.graph)
  requireSound(graph)
  return {
    irVersion: proto.irVersion ?? 0,
    opsets: Object.fromEntries(
      proto.opsetImport.map(({ domain, version }) => [domain === 'ai.onnx' ? '' : (domain ?? ''), version ?? 0]),
    ),
    graph,
    metadata: Object.fromEntries(proto.metadataProps.map(({ key, value }) => [key ?? '', value ?? ''])),
  }
}
