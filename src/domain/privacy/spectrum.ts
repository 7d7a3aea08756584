import type { Fourier } from './fft.ts'

/** The transform of a real sequence: its frequencies from 0 to half its length. */
export interface Spectrum {
  readonly re: Float64Array
  readonly im: Float64Array
}

/** Two real sequences of equal length, or the transform of both at once. */
export type Pair = readonly [Float64Array, Float64Array]

/** The transform of a single impulse at 0: the neutral element of products. */
export const ones = (length: number): Spectrum => ({
  re: new Float64Array(length).fill(1),
  im: new Float64Array(length),
})

export const copyOf = ({ re, im }: Spectrum): Spectrum => ({ re: re.slice(), im: im.slice() })

/** Separates the transforms of two real sequences, raises both to a power and multiplies them into their spectra. */
export function multiplyPowers(a: Spectrum, b: Spectrum, [re, im]: Pair, power: number): void {
  const size = re.length
  for (let k = 0; k <= size / 2; k++) {
    const other = (size - k) % size
    multiplyByPower(a, k, (re[k]! + re[other]!) / 2, (im[k]! - im[other]!) / 2, power)
    multiplyByPower(b, k, (im[k]! + im[other]!) / 2, (re[other]! - re[k]!) / 2, power)
  }
}

const multiplyByPower = (into: Spectrum, k: number, re: number, im: number, power: number): void => {
  let x = into.re[k]!
  let y = into.im[k]!
  for (let left = power; left >= 1; left = Math.floor(left / 2)) {
    if (left % 2 === 1) {
      const product = x * re - y * im
      y = x * im + y * re
      x = product
    }
    const square = re * re - im * im
    im = 2 * re * im
    re = square
  }
  into.re[k] = x
  into.im[k] = y
}

/** Transforms two spectra back into their sequences at once. */
export function transformBack(fourier: Fourier, a: Spectrum, b: Spectrum, [re, im]: Pair): void {
  const { size } = fourier
  for (let k = 0; k <= size / 2; k++) {
    const other = (size - k) % size
    re[k] = a.re[k]! - b.im[k]!
    im[k] = a.im[k]! + b.re[k]!
    re[other] = a.re[k]! + b.im[k]!
    im[other] = b.re[k]! - a.im[k]!
  }
  // At the two frequencies that mirror themselves, both spectra are real.
  for (const k of [0, size / 2]) {
    re[k] = a.re[k]!
    im[k] = b.re[k]!
  }
  fourier.inverse(re, im)
}
