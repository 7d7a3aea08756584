/** An in-place discrete Fourier transform of a fixed length, a power of two, with separate real and imaginary parts. */
export interface Fourier {
  readonly size: number
  forward(re: Float64Array, im: Float64Array): void
  /** Divides by the size, so that it inverts `forward`. */
  inverse(re: Float64Array, im: Float64Array): void
}

interface Twiddles {
  readonly cos: Float64Array
  readonly sin: Float64Array
}

/** Cooley and Tukey's transform (1965), two radix-2 passes at once, with every twiddle factor computed directly. */
export function fourierOf(size: number): Fourier {
  const half = size / 2
  const cos = new Float64Array(half)
  const sin = new Float64Array(half)
  for (let k = 0; k < half; k++) {
    cos[k] = Math.cos((2 * Math.PI * k) / size)
    sin[k] = -Math.sin((2 * Math.PI * k) / size)
  }

  function forward(re: Float64Array, im: Float64Array): void {
    reverseBits(re, im)
    const isOdd = Math.log2(size) % 2 === 1
    if (isOdd) pairs(re, im)
    for (let length = isOdd ? 2 : 1; length < size; length *= 4) {
      quarters(re, im, length, { cos, sin })
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

/** The first pass alone, which needs no twiddle factors. */
const pairs = (re: Float64Array, im: Float64Array): void => {
  for (let low = 0; low < re.length; low += 2) {
    const u = re[low]!
    const v = im[low]!
    const x = re[low + 1]!
    const y = im[low + 1]!
    re[low] = u + x
    im[low] = v + y
    re[low + 1] = u - x
    im[low + 1] = v - y
  }
}

/** Two passes: combines four adjacent transforms of `length` into one. */
const quarters = (re: Float64Array, im: Float64Array, length: number, { cos, sin }: Twiddles): void => {
  const size = re.length
  const stride = size / (4 * length)
  for (let start = 0; start < size; start += 4 * length) {
    for (let k = 0, turn = 0; k < length; k++, turn += stride) {
      const a = start + k
      const b = a + length
      const c = b + length
      const d = c + length
      const c1 = cos[2 * turn]!
      const s1 = sin[2 * turn]!
      const c2 = cos[turn]!
      const s2 = sin[turn]!
      const bx = re[b]! * c1 - im[b]! * s1
      const by = re[b]! * s1 + im[b]! * c1
      const dx = re[d]! * c1 - im[d]! * s1
      const dy = re[d]! * s1 + im[d]! * c1
      const evenX = re[a]! + bx
      const evenY = im[a]! + by
      const oddX = re[a]! - bx
      const oddY = im[a]! - by
      const lateX = re[c]! + dx
      const lateY = im[c]! + dy
      const lastX = re[c]! - dx
      const lastY = im[c]! - dy
      const cx = lateX * c2 - lateY * s2
      const cy = lateX * s2 + lateY * c2
      // A quarter turn: times -i.
      const ex = lastX * s2 + lastY * c2
      const ey = lastY * s2 - lastX * c2
      re[a] = evenX + cx
      im[a] = evenY + cy
      re[b] = oddX + ex
      im[b] = oddY + ey
      re[c] = evenX - cx
      im[c] = evenY - cy
      re[d] = oddX - ex
      im[d] = oddY - ey
    }
  }
}

function reverseBits(re: Float64Array, im: Float64Array): void {
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
