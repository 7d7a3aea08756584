// Squared distances of all pairs of rows: out[i * rows + j] += sum((row_i - row_j)^2) for i < j. Row k lies at
// base + k * stride, padded with zeroes to a multiple of 8 elements. Sums leave the lanes of f32 for f64 after each block.

// Bytes of a row that all rows are taken through at once, so that they stay in a first-level cache; for f32 also the
// longest run, 64 squares a lane, that is summed in f32.
const BLOCK: usize = 1024

@inline
function flush<T>(out: usize, sum: v128): void {
  let both = sum
  if (sizeof<T>() == 4) {
    const high = f64x2.promote_low_f32x4(v128.shuffle<i32>(sum, sum, 2, 3, 2, 3))
    both = f64x2.add(f64x2.promote_low_f32x4(sum), high)
  }
  store<f64>(out, load<f64>(out) + (f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)))
}

@inline
function square<T>(sum: v128, a: v128, b: v128): v128 {
  const d = v128.sub<T>(a, b)
  return v128.add<T>(sum, v128.mul<T>(d, d))
}

// Rows a0 and a1 against the four from b on: 8 sums and 6 values fit the 16 vector registers of x86.
@inline
function twoByFour<T>(a0: usize, a1: usize, b: usize, stride: usize, bytes: usize, out0: usize, out1: usize): void {
  let s00 = f32x4.splat(0), s01 = s00, s02 = s00, s03 = s00
  let s10 = s00, s11 = s00, s12 = s00, s13 = s00
  const b1 = b + stride
  const b2 = b1 + stride
  const b3 = b2 + stride
  for (let at: usize = 0; at < bytes; at += 16) {
    const x = v128.load(a0 + at)
    const y = v128.load(a1 + at)
    let z = v128.load(b + at)
    s00 = square<T>(s00, x, z)
    s10 = square<T>(s10, y, z)
    z = v128.load(b1 + at)
    s01 = square<T>(s01, x, z)
    s11 = square<T>(s11, y, z)
    z = v128.load(b2 + at)
    s02 = square<T>(s02, x, z)
    s12 = square<T>(s12, y, z)
    z = v128.load(b3 + at)
    s03 = square<T>(s03, x, z)
    s13 = square<T>(s13, y, z)
  }
  flush<T>(out0, s00)
  flush<T>(out0 + 8, s01)
  flush<T>(out0 + 16, s02)
  flush<T>(out0 + 24, s03)
  flush<T>(out1, s10)
  flush<T>(out1 + 8, s11)
  flush<T>(out1 + 16, s12)
  flush<T>(out1 + 24, s13)
}

@inline
function single<T>(a: usize, b: usize, bytes: usize, out: usize): void {
  // Two chains of additions: one would wait for itself. Padding makes the bytes a multiple of 32.
  let s = f32x4.splat(0), t = s
  for (let at: usize = 0; at < bytes; at += 32) {
    s = square<T>(s, v128.load(a + at), v128.load(b + at))
    t = square<T>(t, v128.load(a + at, 16), v128.load(b + at, 16))
  }
  flush<T>(out, v128.add<T>(s, t))
}

@inline
function pairs<T>(base: usize, stride: usize, rows: i32, length: i32, out: usize): void {
  const line = <usize>rows * 8
  const total = ((<usize>length + 7) & ~7) * sizeof<T>()
  for (let from: usize = 0; from < total; from += BLOCK) {
    const bytes = min(BLOCK, total - from)
    const start = base + from
    for (let i = 0; i + 1 < rows; i += 2) {
      const a0 = start + <usize>i * stride
      const a1 = a0 + stride
      const out0 = out + <usize>i * line
      const out1 = out0 + line
      single<T>(a0, a1, bytes, out0 + <usize>(i + 1) * 8)
      let j = i + 2
      for (; j + 4 <= rows; j += 4) {
        const column = <usize>j * 8
        twoByFour<T>(a0, a1, start + <usize>j * stride, stride, bytes, out0 + column, out1 + column)
      }
      for (; j < rows; j++) {
        const b = start + <usize>j * stride
        single<T>(a0, b, bytes, out0 + <usize>j * 8)
        single<T>(a1, b, bytes, out1 + <usize>j * 8)
      }
    }
  }
}

export function pairsF32(base: usize, stride: usize, rows: i32, length: i32, out: usize): void {
  pairs<f32>(base, stride, rows, length, out)
}

export function pairsF64(base: usize, stride: usize, rows: i32, length: i32, out: usize): void {
  pairs<f64>(base, stride, rows, length, out)
}
