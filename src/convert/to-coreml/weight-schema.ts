// The weights of Core ML's layers and their quantization.
import { type Field, many, one } from '../protobuf/message.ts'
import { count, message } from './schema-fields.ts'

const linearQuantization = message('LinearQuantizationParams', { scale: many(1, 'float'), bias: many(2, 'float') })
const lookupTable = message('LookUpTableQuantizationParams', { floatValue: many(1, 'float') })
const quantizationParams = message('QuantizationParams', {
  numberOfBits: count(1),
  linearQuantization: one(101, () => linearQuantization),
  lookupTableQuantization: one(102, () => lookupTable),
})

/** Weights; packed float32 numbers stay the bytes in the file. */
export const weightParams = message('WeightParams', {
  floatValue: one(1, 'bytes'),
  float16Value: one(2, 'bytes'),
  rawValue: one(30, 'bytes'),
  quantization: one(40, () => quantizationParams),
})

export const weights = (number: number): Field => one(number, () => weightParams)
