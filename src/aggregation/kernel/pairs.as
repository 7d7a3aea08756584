// Squared distances of all pairs of rows: out[i * rows + j] += sum((row_i - row_j)^2) for i < j, in f64.
// Row k lies at base + k * stride, padded with zeroes to a multiple of 8 elements.

// Columns that all rows are taken through at once, so that they stay in a first-level cache, and the longest run that
// is summed in f32 (in four lanes).
const BLOCK: usize = 256

// @ts-ignore: decorator
@inline
function add(out: usize, sum: v128): void {
  const low = f64x2.promote_low_f32x4(sum)
  const high = f64x2.promote_low_f32x4(v128.shuffle<i32>(sum, sum, 2, 3, 2, 3))
  const both = f64x2.add(low, high)
  store<f64>(out, load<f64>(out) + (f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)))
}

// @ts-ignore: decorator
@inline
function square(sum: v128, a: v128, b: v128): v128 {
  const d = f32x4.sub(a, b)
  return f32x4.add(sum, f32x4.mul(d, d))
}

// Rows a0 and a1 against the four from b on: 8 sums and 6 values fit the 16 vector registers of x86.
// @ts-ignore: decorator
@inline
function twoByFour(a0: usize, a1: usize, b: usize, stride: usize, bytes: usize, out0: usize, out1: usize): void {
  let s00 = f32x4.splat(0), s01 = f32x4.splat(0), s02 = f32x4.splat(0), s03 = f32x4.splat(0)
  let s10 = f32x4.splat(0), s11 = f32x4.splat(0), s12 = f32x4.splat(0), s13 = f32x4.splat(0)
  const b1 = b + stride
  const b2 = b1 + stride
  const b3 = b2 + stride
  for (let at: usize = 0; at < bytes; at += 16) {
    const x = v128.load(a0 + at)
    const y = v128.load(a1 + at)
    let z = v128.load(b + at)
    s00 = square(s00, x, z)
    s10 = square(s10, y, z)
    z = v128.load(b1 + at)
    s01 = square(s01, x, z)
    s11 = square(s11, y, z)
    z = v128.load(b2 + at)
    s02 = square(s02, x, z)
    s12 = square(s12, y, z)
    z = v128.load(b3 + at)
    s03 = square(s03, x, z)
    s13 = square(s13, y, z)
  }
  add(out0, s00)
  add(out0 + 8, s01)
  add(out0 + 16, s02)
  add(out0 + 24, s03)
  add(out1, s10)
  add(out1 + 8, s11)
  add(out1 + 16, s12)
  add(out1 + 24, s13)
}

// @ts-ignore: decorator
@inline
function single(a: usize, b: usize, bytes: usize, out: usize): void {
  let s = f32x4.splat(0)
  for (let at: usize = 0; at < bytes; at += 16) s = square(s, v128.load(a + at), v128.load(b + at))
  add(out, s)
}

export function pairsF32(base: usize, stride: usize, rows: i32, length: i32, out: usize): void {
  const line = <usize>rows * 8
  const total = ((<usize>length + 7) & ~7) * 4
  for (let from: usize = 0; from < total; from += BLOCK * 4) {
    const bytes = min(BLOCK * 4, total - from)
    const start = base + from
    for (let i = 0; i < rows; i += 2) {
      const a0 = start + <usize>i * stride
      const out0 = out + <usize>i * line
      if (i + 1 == rows) break
      const a1 = a0 + stride
      const out1 = out0 + line
      single(a0, a1, bytes, out0 + <usize>(i + 1) * 8)
      let j = i + 2
      for (; j + 4 <= rows; j += 4) {
        const column = <usize>j * 8
        twoByFour(a0, a1, start + <usize>j * stride, stride, bytes, out0 + column, out1 + column)
      }
      for (; j < rows; j++) {
        const b = start + <usize>j * stride
        single(a0, b, bytes, out0 + <usize>j * 8)
        single(a1, b, bytes, out1 + <usize>j * 8)
      }
    }
  }
}
