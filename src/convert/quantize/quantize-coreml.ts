import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { errorMessage } from '../../domain/error-message.ts'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { decodeElements, encodeElements } from '../../tensors/elements.ts'
import { decodeMessage, encodeMessage, type Field, type MessageType } from '../protobuf/message.ts'
import { coremlModel } from '../to-coreml/schema.ts'
import type { Message } from '../to-coreml/schema-fields.ts'
import { weightParams } from '../to-coreml/weight-schema.ts'
import { areFinite, leavesHalf } from './weight-range.ts'

export const COREML_METHODS = ['int8', 'int4', 'float16'] as const
export type CoremlMethod = (typeof COREML_METHODS)[number]

/** Smaller weights are unchanged, because nothing would be saved. */
const MIN_WEIGHT_BYTES = 1024
/** Weights may be half precision since version 2 and have fewer bits since version 3. */
const BITS: Readonly<Record<string, number>> = { int8: 8, int4: 4 }

/**
 * Copies a message; `replace` provides the content of messages that the table describes. Everything else is copied byte for
 * byte, because Core ML has more layers than the table.
 */
const copyMessage = (
  bytes: Uint8Array,
  type: MessageType<Message>,
  replace: (name: string, content: Uint8Array, type: MessageType<Message>) => Uint8Array,
): Uint8Array => {
  const fields = new Map(
    Object.entries<Field>(type.fields).map(([name, field]) => [field.number, [name, field]] as const),
  )
  const reader = new BinaryReader(bytes)
  const writer = new BinaryWriter()
  while (reader.pos < bytes.length) {
    const start = reader.pos
    const [number, wire] = reader.tag()
    const [name, field] = fields.get(number) ?? []
    if (wire === WireType.LengthDelimited && name !== undefined && typeof field?.kind === 'function') {
      const content = replace(name, reader.bytes(), field.kind())
      writer.tag(number, wire).bytes(content)
    } else {
      reader.skip(wire, number)
      writer.raw(bytes.subarray(start, reader.pos))
    }
  }
  return writer.finish()
}

/** The layers with weights, and the number of channels with their own scale: the rows of the weights. */
const CHANNELS: Readonly<Record<string, (layer: Message) => unknown>> = {
  // A transposed convolution has its channels in the second dimension.
  convolution: ({ isDeconvolution, outputChannels }) => (isDeconvolution === true ? 1 : outputChannels),
  innerProduct: ({ outputChannels }) => outputChannels,
  batchedMatmul: ({ weightMatrixSecondDimension }) => weightMatrixSecondDimension,
  embeddingND: ({ embeddingSize }) => embeddingSize,
  uniDirectionalLSTM: ({ outputVectorSize }) => outputVectorSize,
}

/** weight = number · scale + bias, with numbers from 0 to 2^bits − 1, the first one in the highest bits of a byte. */
const toLinear = (numbers: Float32Array, channels: number, bits: number): Message => {
  const size = numbers.length / channels
  const levels = 2 ** bits - 1
  const packed = new Uint8Array(Math.ceil((numbers.length * bits) / 8))
  const [scale, bias]: [number[], number[]] = [[], []]
  for (let channel = 0; channel < channels; channel++) {
    const row = numbers.subarray(channel * size, (channel + 1) * size)
    let [min, max] = [Infinity, -Infinity]
    for (const weight of row) {
      min = Math.min(min, weight)
      max = Math.max(max, weight)
    }
    if (!Number.isFinite(max - min)) throw badRequest('The weights are too far apart for integers. Use float16.')
    const step = Math.fround((max - min) / levels) || 1
    scale.push(step)
    bias.push(Math.fround(min))
    for (const [at, weight] of row.entries()) {
      const value = Math.max(0, Math.min(levels, Math.round((weight - min) / step)))
      const place = channel * size + at
      if (bits === 8) packed[place] = value
      else packed[place >> 1]! |= value << ((place & 1) === 0 ? 4 : 0)
    }
  }
  return { rawValue: packed, quantization: { numberOfBits: bits, linearQuantization: { scale, bias } } }
}

const quantizeWeights = (content: Uint8Array, channels: number, method: CoremlMethod): Uint8Array | null => {
  const { floatValue } = decodeMessage(weightParams, content) as { floatValue?: Uint8Array }
  if (floatValue === undefined || floatValue.length < MIN_WEIGHT_BYTES || floatValue.length % 4 !== 0) return null
  const numbers = decodeElements(floatValue, 'f32') as Float32Array
  if (!areFinite(numbers))
    throw badRequest('A weight is not finite. A model with such weights does not work: export it again.')
  const bits = BITS[method]
  if (bits === undefined && leavesHalf(numbers)) return null
  if (bits === undefined) return encodeMessage(weightParams, { float16Value: encodeElements(numbers, 'f16') })
  const rows = channels > 0 && numbers.length % channels === 0 ? channels : 1
  return encodeMessage(weightParams, toLinear(numbers, rows, bits))
}

/**
 * Returns the `.mlmodel` with smaller weights of convolutions, dense and matrix products, embeddings, and LSTMs: `float16`,
 * or `int8` and `int4` with a scale and offset per channel. Core ML expands them when it loads the model. Throws bad_request
 * if the file is not a neural network or has no float32 weights of 1 kB or more.
 */
export const quantizeCoreml = (
  bytes: Uint8Array,
  method: CoremlMethod,
): { readonly bytes: Uint8Array; readonly notes: readonly string[] } => {
  if (!COREML_METHODS.includes(method)) {
    throw badRequest(`Core ML models do not support ${String(method)}; use ${COREML_METHODS.join(', ')}.`)
  }
  let quantized = 0
  const inLayer = (name: string, content: Uint8Array, type: MessageType<Message>): Uint8Array => {
    const channelsOf = ownEntry(CHANNELS, name)
    if (channelsOf === undefined) return content
    const channels = Number(channelsOf(decodeMessage(type, content)))
    const inParams = (field: string, inner: Uint8Array, innerType: MessageType<Message>): Uint8Array => {
      if (field === 'weightParams') return copyMessage(inner, innerType, inParams)
      if (field !== 'weights' && !field.endsWith('Matrix')) return inner
      const smaller = quantizeWeights(inner, channels, method)
      if (smaller !== null) quantized += 1
      return smaller ?? inner
    }
    return copyMessage(content, type, inParams)
  }
  const inNetwork = (name: string, content: Uint8Array, type: MessageType<Message>): Uint8Array =>
    name === 'layers' ? copyMessage(content, type, inLayer) : content
  const inModel = (name: string, content: Uint8Array, type: MessageType<Message>): Uint8Array =>
    name.startsWith('neuralNetwork') ? copyMessage(content, type, inNetwork) : content
  try {
    const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    const { specificationVersion } = decodeMessage(coremlModel, plain) as { specificationVersion?: number }
    if (!((specificationVersion ?? 0) >= 3)) {
      throw badRequest(
        'The file is not a Core ML model of specification version 3 or newer. Save it again with a newer version.',
      )
    }
    const result = copyMessage(plain, coremlModel, inModel)
    if (quantized > 0) return { bytes: result, notes: [] }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw badRequest(`The Core ML model is damaged: ${errorMessage(error)}.`)
  }
  throw badRequest(
    'The Core ML model has no neural network with float32 weights of 1 kB or more. ML programs and pipelines are not quantized here: quantize the ONNX model.',
  )
}
