// Helpers for converting the layers of a Core ML network to ONNX nodes.
import { badRequest } from '../../domain/errors.ts'
import { decodeElements } from '../../tensors/elements.ts'
import { type Attribute, elementCount, int, numberOfElementType } from '../onnx/model.ts'
import type { Message } from './schema-fields.ts'

export type Attributes = Readonly<Record<string, Attribute>>

/** A layer to convert: its parameters and its inputs. */
export interface Layer {
  readonly p: Message
  readonly x: string
  readonly inputs: readonly string[]
  /** As stored in the file; empty if absent. */
  readonly ranks: readonly number[]
  readonly outputs: number
  /** Adds a node with one output. */
  emit(type: string, inputs: readonly string[], attributes?: Attributes): string
  /** Adds a node with several outputs. */
  emitSeveral(type: string, inputs: readonly string[], count: number, attributes?: Attributes): string[]
  f32(values: ArrayLike<number>, shape: readonly number[]): string
  integers(values: readonly number[]): string
}

export type Rule = (layer: Layer) => string | readonly string[]

export const list = (value: unknown): number[] => ((value ?? []) as readonly unknown[]).map(Number)
export const part = (value: unknown): Message => (value ?? {}) as Message
export const num = (value: unknown, absent = 0): number => Number(value ?? absent)

/** Unpacks numbers from the highest bits of each byte on. */
const unpack = (bytes: Uint8Array, bits: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, at) => {
    const first = at * bits
    const word = (bytes[first >> 3]! << 8) | (bytes[(first >> 3) + 1] ?? 0)
    return (word >> (16 - bits - (first & 7))) & (2 ** bits - 1)
  })

export const numbersOf = (value: unknown, count: number): Float32Array => {
  const { floatValue, float16Value, rawValue, quantization } = part(value)
  const fitting = (numbers: Float32Array): Float32Array => {
    if (numbers.length === count) return numbers
    throw badRequest(`it has ${numbers.length} weights, but its sizes need ${count}`)
  }
  if (floatValue !== undefined) return fitting(decodeElements(floatValue as Uint8Array, 'f32') as Float32Array)
  if (float16Value !== undefined) return fitting(decodeElements(float16Value as Uint8Array, 'f16') as Float32Array)
  const { numberOfBits, linearQuantization, lookupTableQuantization } = part(quantization)
  const bits = num(numberOfBits)
  const raw = rawValue as Uint8Array | undefined
  if (raw === undefined || bits < 1 || bits > 8 || raw.length !== Math.ceil((count * bits) / 8)) {
    throw badRequest('its weights are of a kind that is not supported here')
  }
  const numbers = unpack(raw, bits, count)
  const table = list(part(lookupTableQuantization).floatValue)
  if (table.length > 0) return numbers.map((index) => table[index] ?? Number.NaN)
  const { scale, bias } = part(linearQuantization)
  const [scales, biases] = [list(scale), list(bias)]
  const row = count / scales.length
  return numbers.map((value, at) => value * scales[Math.floor(at / row)]! + num(biases[Math.floor(at / row)]))
}

export const weight = (layer: Layer, value: unknown, shape: readonly number[]): string =>
  layer.f32(numbersOf(value, elementCount(shape)), shape)

export const scalar = (layer: Layer, value: number): string => layer.f32([value], [])
export const bool = ({ emit }: Layer, value: string): string =>
  emit('Cast', [value], { to: int(numberOfElementType('bool')) })
export const real = ({ emit }: Layer, value: string): string =>
  emit('Cast', [value], { to: int(numberOfElementType('f32')) })
export const index = ({ emit }: Layer, value: string): string =>
  emit('Cast', [value], { to: int(numberOfElementType('i64')) })

export const node =
  (type: string, attributes: (p: Message) => Attributes = () => ({})): Rule =>
  ({ emit, inputs, p }) =>
    emit(type, inputs, attributes(p))
export const compared =
  (type: string): Rule =>
  (layer) =>
    real(layer, layer.emit(type, layer.inputs))
export const logical =
  (type: string): Rule =>
  (layer) =>
    real(
      layer,
      layer.emit(
        type,
        layer.inputs.map((value) => bool(layer, value)),
      ),
    )
export const axisOf = ({ axis }: Message): Attributes => ({ axis: int(num(axis)) })
export const nodes = (kinds: string, rule: (type: string) => Rule): Record<string, Rule> =>
  Object.fromEntries(
    kinds
      .split(' ')
      .map((pair) => pair.split(':') as [string, string])
      .map(([kind, type]) => [kind, rule(type)]),
  )
