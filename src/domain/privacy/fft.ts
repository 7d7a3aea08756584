/** A discrete Fourier transform of one fixed length, a power of two, in place, on real and imaginary parts apart. */
export interface Fourier {
  readonly size: number
  forward(re: Float64Array, im: Float64Array): void
  /** Divides by the size: after `forward` it gives back what was there. */
  inverse(re: Float64Array, im: Float64Array): void
}

/** Cooley and Tukey's (1965) radix-2 transform, with every twiddle factor computed for itself, not by recurrence. */
export const fourierOf = (size: number): Fourier => {
  const half = size / 2
  const cos = new Float64Array(half)
  const sin = new Float64Array(half)
  for (let k = 0; k < half; k++) {
    cos[k] = Math.cos((2 * Math.PI * k) / size)
    sin[k] = -Math.sin((2 * Math.PI * k) / size)
  }

  const forward = (re: Float64Array, im: Float64Array): void => {
    reverseBits(re, im)
    for (let length = 2; length <= size; length *= 2) {
      const reach = length / 2
      const stride = size / length
      for (let start = 0; start < size; start += length) {
        for (let k = 0, low = start; k < reach; k++, low++) {
          const high = low + reach
          const c = cos[k * stride]!
          const s = sin[k * stride]!
          const x = re[high]! * c - im[high]! * s
          const y = re[high]! * s + im[high]! * c
          re[high] = re[low]! - x
          im[high] = im[low]! - y
          re[low] = re[low]! + x
          im[low] = im[low]! + y
        }
      }
    }
  }

  return {
    size,
    forward,
    inverse(re, im) {
      forward(im, re)
      for (let k = 0; k < size; k++) {
        re[k] = re[k]! / size
        im[k] = im[k]! / size
      }
    },
  }
}

const reverseBits = (re: Float64Array, im: Float64Array): void => {
  const size = re.length
  for (let k = 1, reversed = 0; k < size; k++) {
    let bit = size >> 1
    for (; reversed & bit; bit >>= 1) reversed ^= bit
    reversed ^= bit
    if (k >= reversed) continue
    const x = re[k]!
    const y = im[k]!
    re[k] = re[reversed]!
    im[k] = im[reversed]!
    re[reversed] = x
    im[reversed] = y
  }
}
