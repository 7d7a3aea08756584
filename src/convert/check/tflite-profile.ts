import { ByteBuffer } from 'flatbuffers'
import { badRequest } from '../../domain/errors.ts'
import { countsOf, type ModelProfile, peakBytes } from './model-profile.ts'
import { TFLITE_OPERATORS } from './tflite-operators.ts'

/** Bytes of an element by TensorType (schema.fbs): f32, f16, i32, u8, i64, string, bool, i16, c64, i8, f64, c128, u64, … */
const BYTES: readonly number[] = [4, 2, 4, 1, 8, 0, 1, 2, 8, 1, 8, 16, 8, 0, 0, 4, 2, 0.5, 2, 0.25]

const CUSTOM = 32

export const isTflite = (head: Uint8Array): boolean => Buffer.from(head.subarray(4, 8)).toString('latin1') === 'TFL3'

/** Tables and vectors of a flatbuffer by the numbers of their fields. Throws RangeError beyond the end of the file. */
const open = (bytes: Uint8Array) => {
  const buffer = new ByteBuffer(bytes)
  const inside = (at: number, length = 4): number => {
    if (at < 0 || at + length > bytes.length) throw new RangeError(`byte ${at} lies outside the file`)
    return at
  }
  const i32 = (at: number): number => buffer.readInt32(inside(at))
  const follow = (at: number): number => inside(at + buffer.readUint32(inside(at)))
  /** Where a field is, or 0 where it has its default. */
  const field = (table: number, number: number): number => {
    const directory = inside(table - i32(table), 4)
    const entry = 4 + number * 2
    if (entry >= buffer.readUint16(directory)) return 0
    const offset = buffer.readUint16(inside(directory + entry, 2))
    return offset === 0 ? 0 : inside(table + offset, 1)
  }
  const vector = (table: number, number: number, itemBytes: number): number[] => {
    const at = field(table, number)
    if (at === 0) return []
    const start = follow(at)
    const length = buffer.readUint32(start)
    inside(start + 4, length * itemBytes)
    return Array.from({ length }, (_, index) => start + 4 + index * itemBytes)
  }
  return {
    root: () => follow(0),
    tables: (table: number, number: number) => vector(table, number, 4).map(follow),
    integers: (table: number, number: number) => vector(table, number, 4).map(i32),
    vectorLength: (table: number, number: number) => vector(table, number, 1).length,
    byte: (table: number, number: number) => {
      const at = field(table, number)
      return at === 0 ? 0 : buffer.readUint8(at)
    },
    integer: (table: number, number: number) => {
      const at = field(table, number)
      return at === 0 ? 0 : i32(at)
    },
    text: (table: number, number: number) => {
      const letters = vector(table, number, 1)
      return Buffer.from(bytes.subarray(letters[0] ?? 0, (letters[0] ?? 0) + letters.length)).toString('utf8')
    },
  }
}

/** Throws bad_request for a damaged file. */
export const tfliteProfile = (bytes: Uint8Array): ModelProfile => {
  try {
    return read(bytes)
  } catch (cause) {
    throw badRequest(`The file looks like a TensorFlow Lite model, but it is damaged: ${(cause as Error).message}.`)
  }
}

const read = (bytes: Uint8Array): ModelProfile => {
  const file = open(bytes)
  const model = file.root()
  const codes = file.tables(model, 1).map((code) => {
    const number = Math.max(file.byte(code, 0), file.integer(code, 3))
    return number === CUSTOM ? `custom ${file.text(code, 1)}` : (TFLITE_OPERATORS[number] ?? `operator ${number}`)
  })
  const buffers = file.tables(model, 4).map((buffer) => file.vectorLength(buffer, 0))
  const graph = file.tables(model, 2)[0]
  if (graph === undefined) throw new RangeError('it has no graph')
  const tensors = file.tables(graph, 0).map((tensor) => {
    const shape = file.integers(tensor, 0)
    const elements = shape.reduce((product, size) => product * Math.max(1, size), 1)
    const buffer = file.integer(tensor, 2)
    return {
      shape,
      elements,
      bytes: elements * (BYTES[file.byte(tensor, 1)] ?? 0),
      isWeight: (buffers[buffer] ?? 0) > 0,
    }
  })
  const steps = file.tables(graph, 3).map((operator) => ({
    name: codes[file.integer(operator, 0)] ?? 'an operator that is not listed',
    inputs: file.integers(operator, 1),
    outputs: file.integers(operator, 2),
  }))
  const ends = new Map<number, number>(file.integers(graph, 2).map((index) => [index, steps.length]))
  for (const [step, { inputs }] of steps.entries())
    for (const index of inputs) ends.set(index, Math.max(ends.get(index) ?? 0, step))
  const begins = new Map<number, number>(file.integers(graph, 1).map((index) => [index, 0]))
  for (const [step, { outputs }] of steps.entries()) for (const index of outputs) begins.set(index, step)
  const lifetimes = [...begins].map(([index, from]) => ({
    bytes: tensors[index]?.bytes ?? 0,
    from,
    to: Math.max(from, ends.get(index) ?? from),
  }))
  const weights = tensors.filter(({ isWeight }) => isWeight)
  const operators = countsOf(steps.map(({ name }) => name))
  const unsupportedOperators = Object.keys(operators).filter((name) => /^(custom|operator) /.test(name))
  return {
    title: 'a TensorFlow Lite model',
    parameters: weights.reduce((sum, { elements }) => sum + elements, 0),
    weightBytes: buffers.reduce((sum, size) => sum + size, 0),
    operators,
    activationBytes: peakBytes(lifetimes),
    multiplications: steps.reduce((sum, { name, inputs, outputs }) => {
      const [weight, result] = [tensors[inputs[1] ?? -1], tensors[outputs[0] ?? -1]]
      if (weight === undefined || result === undefined) return sum
      if (name === 'DEPTHWISE_CONV_2D')
        return sum + result.elements * (weight.elements / Math.max(1, weight.shape.at(-1) ?? 1))
      const taken = weight.elements / Math.max(1, weight.shape[0] ?? 1)
      return name === 'CONV_2D' || name === 'FULLY_CONNECTED' ? sum + result.elements * taken : sum
    }, 0),
    languageModel: null,
    runtimes: [
      {
        runtime: 'tflite',
        isSupported: unsupportedOperators.length === 0,
        unsupportedOperators,
        note: unsupportedOperators.length === 0 ? null : 'Custom operators need a runtime that was built with them.',
      },
    ],
    notes: [],
  }
}
