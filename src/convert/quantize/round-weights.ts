// Weights as small integers. Pure functions of row-major float32 numbers.

export interface ByteWeights {
  /** Integers from -limit to limit, in the order of the weights. */
  readonly values: Int8Array
  /** One per channel: weight = value · scale. */
  readonly scales: Float32Array
}

/** Ties to even, like onnxruntime. */
export const roundToEven = (value: number): number => {
  const rounded = Math.round(value)
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded
}

/** A scale of 0 would cause division by zero, and a smaller one loses precision. */
const MIN_SCALE = 2 ** -126

/**
 * The largest weight for integer products. Processors without VNNI add two products of an unsigned and a signed byte in 16 bits
 * and clip the sum: 2 · 255 · 64 fits, 2 · 255 · 127 does not (onnxruntime, quantization, "reduce range").
 */
export const MAX_INTEGER_WEIGHT = 64

/**
 * Symmetric 8-bit weights with a scale per channel: scale = max |w| / limit over all finite weights with the same index in
 * dimension `axis`. NaN becomes 0, infinities become the limit.
 */
export const toBytes = (weights: Float32Array, shape: readonly number[], axis: number, limit = 127): ByteWeights => {
  const channels = shape[axis] ?? 1
  const inner = shape.slice(axis + 1).reduce((product, size) => product * size, 1)
  const scales = new Float32Array(channels)
  for (let at = 0; at < weights.length; at++) {
    const channel = Math.floor(at / inner) % channels
    const size = Math.abs(weights[at]!)
    if (size > scales[channel]! && Number.isFinite(size)) scales[channel] = size
  }
  for (let channel = 0; channel < channels; channel++) scales[channel] = Math.max(scales[channel]! / limit, MIN_SCALE)
  const values = new Int8Array(weights.length)
  for (let at = 0; at < weights.length; at++) {
    const value = roundToEven(weights[at]! / scales[Math.floor(at / inner) % channels]!)
    values[at] = Number.isNaN(value) ? 0 : Math.max(-limit, Math.min(limit, value))
  }
  return { values, scales }
}

export interface BlockWeights {
  /** Two per byte, the first in the lower half: [columns, blocks, block / 2]. */
  readonly values: Uint8Array
  /** [columns, blocks] */
  readonly scales: Float32Array
  /** Two per byte: [columns, ceil(blocks / 2)]. */
  readonly zeroPoints: Uint8Array
  readonly blocks: number
}

/**
 * Asymmetric 4-bit weights of a matrix [rows, columns], block by block down each column: weight = (value - zero) · scale.
 * The layout is that of `MatMulNBits` (onnxruntime, ContribOperators.md); a partial last block is padded with its zero
 * point.
 */
export const toNibbles = (
  weights: Float32Array,
  { rows, columns, transposed }: { readonly rows: number; readonly columns: number; readonly transposed: boolean },
  block: number,
): BlockWeights => {
  const blocks = Math.ceil(rows / block)
  const values = new Uint8Array((columns * blocks * block) / 2)
  const scales = new Float32Array(columns * blocks)
  const zeroBytes = Math.ceil(blocks / 2)
  const zeroPoints = new Uint8Array(columns * zeroBytes)
  const [rowStep, columnStep] = transposed ? [1, rows] : [columns, 1]
  const current = new Float32Array(block)
  for (let column = 0; column < columns; column++) {
    for (let index = 0; index < blocks; index++) {
      const from = index * block
      const count = Math.min(block, rows - from)
      let [min, max] = [0, 0]
      for (let i = 0; i < count; i++) {
        const weight = weights[(from + i) * rowStep + column * columnStep]!
        current[i] = Number.isFinite(weight) ? weight : 0
        min = Math.min(min, current[i]!)
        max = Math.max(max, current[i]!)
      }
      current.fill(0, count)
      const scale = Math.fround((max - min) / 15) || 1
      const zero = Math.max(0, Math.min(15, roundToEven(-min / scale)))
      scales[column * blocks + index] = scale
      zeroPoints[column * zeroBytes + (index >> 1)]! |= zero << ((index & 1) * 4)
      const to = ((column * blocks + index) * block) / 2
      for (let i = 0; i < block; i++) {
        const value = Math.max(0, Math.min(15, roundToEven(current[i]! / scale) + zero))
        values[to + (i >> 1)]! |= value << ((i & 1) * 4)
      }
    }
  }
  return { values, scales, zeroPoints, blocks }
}
