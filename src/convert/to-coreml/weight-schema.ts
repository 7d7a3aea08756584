// The weights of Core ML's layers and their quantization.
import { type Field, many, one } from '../protobuf/message.ts'
import { count, flag, held, message } from './schema-fields.ts'

const linearQuantization = message('LinearQuantizationParams', { scale: many(1, 'float'), bias: many(2, 'float') })
const lookupTable = message('LookUpTableQuantizationParams', { floatValue: many(1, 'float') })
const quantizationParams = message('QuantizationParams', {
  numberOfBits: count(1),
  linearQuantization: held(101, () => linearQuantization),
  lookupTableQuantization: held(102, () => lookupTable),
})

/** Weights; packed float32 numbers stay the bytes in the file. */
export const weightParams = message('WeightParams', {
  floatValue: one(1, 'bytes'),
  float16Value: one(2, 'bytes'),
  rawValue: one(30, 'bytes'),
  int8RawValue: one(31, 'bytes'),
  quantization: held(40, () => quantizationParams),
  isUpdatable: flag(50),
})

export const weights = (number: number): Field => held(number, () => weightParams)
