import type { BitReader } from './bit-reader.ts'

// RFC 9639, section 9.2: how one channel of a frame is coded. Samples have up to 33 bits, sums of predictions up to 53:
// all of it is exact in the numbers of JavaScript.

/** What the frame says cannot be. */
export class DamagedFrame extends Error {
  override readonly name = 'DamagedFrame'
}

/** Coefficients of the fixed predictors, latest sample first (section 9.2.5). */
const FIXED: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]]

/** Rice-coded residuals after the warm-up samples (section 9.2.7). */
const readResiduals = (bits: BitReader, samples: Float64Array, order: number): void => {
  const method = bits.unsigned(2)
  if (method > 1) throw new DamagedFrame()
  const parameterBits = 4 + method
  const rawParameter = 2 ** parameterBits - 1
  const partitions = 2 ** bits.unsigned(4)
  const size = samples.length / partitions
  if (!Number.isInteger(size) || size < order) throw new DamagedFrame()
  for (let partition = 0; partition < partitions; partition += 1) {
    const end = (partition + 1) * size
    let at = partition === 0 ? order : partition * size
    const parameter = bits.unsigned(parameterBits)
    if (parameter === rawParameter) {
      const width = bits.unsigned(5)
      for (; at < end; at += 1) samples[at] = bits.signed(width)
      continue
    }
    const step = 2 ** parameter
    for (; at < end; at += 1) {
      const folded = bits.unary() * step + bits.unsigned(parameter)
      samples[at] = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2
    }
  }
}

/** Turns residuals into samples, each predicted from those before it. */
const restore = (samples: Float64Array, coefficients: readonly number[], shift: number): void => {
  const order = coefficients.length
  const scale = 2 ** -shift
  for (let at = order; at < samples.length; at += 1) {
    let sum = 0
    for (let back = 0; back < order; back += 1) sum += coefficients[back]! * samples[at - 1 - back]!
    samples[at]! += Math.floor(sum * scale)
  }
}

const readPredicted = (bits: BitReader, samples: Float64Array, width: number, order: number, linear: boolean): void => {
  if (order > samples.length) throw new DamagedFrame()
  for (let at = 0; at < order; at += 1) samples[at] = bits.signed(width)
  if (!linear) {
    readResiduals(bits, samples, order)
    restore(samples, FIXED[order]!, 0)
    return
  }
  const precision = bits.unsigned(4) + 1
  const shift = bits.signed(5)
  if (precision === 16 || shift < 0) throw new DamagedFrame()
  const coefficients = Array.from({ length: order }, () => bits.signed(precision))
  readResiduals(bits, samples, order)
  restore(samples, coefficients, shift)
}

/** @param width bits of a sample of this channel */
export const readSubframe = (bits: BitReader, length: number, width: number): Float64Array => {
  if (bits.unsigned(1) !== 0) throw new DamagedFrame()
  const type = bits.unsigned(6)
  // Low bits that are zero in all samples of the frame are left out.
  const wasted = bits.unsigned(1) === 0 ? 0 : bits.unary() + 1
  const kept = width - wasted
  if (kept < 1) throw new DamagedFrame()
  const samples = new Float64Array(length)
  if (type === 0) samples.fill(bits.signed(kept))
  else if (type === 1) for (let at = 0; at < length; at += 1) samples[at] = bits.signed(kept)
  else if (type >= 8 && type <= 12) readPredicted(bits, samples, kept, type - 8, false)
  else if (type >= 32) readPredicted(bits, samples, kept, type - 31, true)
  else throw new DamagedFrame()
  if (wasted > 0) for (let at = 0; at < length; at += 1) samples[at]! *= 2 ** wasted
  return samples
}
