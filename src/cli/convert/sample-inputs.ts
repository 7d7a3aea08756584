import type { OnnxValue } from '../../convert/onnx/model.ts'
import type { GraphTensor, GraphTensors } from '../../inference/engines/onnx/run-graph.ts'

/** Numbers of a fixed seed, from 0 up to 1 (mulberry32): the same inputs on every machine. */
const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Filled = (count: number, random: () => number) => GraphTensor['data']

/** Real numbers from -1 to 1. Whole ones are 0 or 1: larger ones may be beyond the end of an embedding's table. */
const FILLED: Readonly<Record<string, readonly [type: string, fill: Filled]>> = {
  f32: ['float32', (count, random) => Float32Array.from({ length: count }, () => 2 * random() - 1)],
  f64: ['float64', (count, random) => Float64Array.from({ length: count }, () => 2 * random() - 1)],
  i64: ['int64', (count, random) => BigInt64Array.from({ length: count }, () => BigInt(Math.round(random())))],
  i32: ['int32', (count, random) => Int32Array.from({ length: count }, () => Math.round(random()))],
  u8: ['uint8', (count, random) => Uint8Array.from({ length: count }, () => Math.round(random()))],
  bool: ['bool', (count, random) => Uint8Array.from({ length: count }, () => Math.round(random()))],
}

const MAX_ELEMENTS = 2 ** 26

/** The input's shape, the given one where it is the first; dimensions that are open are 1. Null: it has none. */
const shapeOf = (
  { shape }: OnnxValue,
  position: number,
  inputShape: readonly number[] | null,
): readonly number[] | null => {
  const isGiven = position === 0 && inputShape !== null && (shape === null || shape.length === inputShape.length)
  if (isGiven) return inputShape.map((size, axis) => (typeof shape?.[axis] === 'number' ? shape[axis] : size))
  return shape?.map((size) => (typeof size === 'number' && size > 0 ? size : 1)) ?? null
}

/** Samples for a model's inputs, always the same; or why there can be none. */
export const sampleInputs = (
  inputs: readonly OnnxValue[],
  { count, inputShape }: { readonly count: number; readonly inputShape: readonly number[] | null },
): readonly GraphTensors[] | { readonly reason: string } => {
  const shapes = inputs.map((input, position) => shapeOf(input, position, inputShape))
  const unknown = inputs.find(({ type, container }, at) => !(type in FILLED) || container || shapes[at] === null)
  if (unknown !== undefined) {
    return { reason: `no samples can be generated for the input '${unknown.name}' (${unknown.type})` }
  }
  const sizes = shapes.map((shape) => shape!.reduce((product, size) => product * size, 1))
  if (sizes.some((size) => size > MAX_ELEMENTS)) return { reason: `its input has more than ${MAX_ELEMENTS} elements` }
  const random = randomFrom(13)
  return Array.from({ length: count }, () =>
    Object.fromEntries(
      inputs.map(({ name, type }, at) => {
        const [runtimeType, fill] = FILLED[type]!
        return [name, { type: runtimeType, dims: shapes[at]!, data: fill(sizes[at]!, random) }]
      }),
    ),
  )
}
