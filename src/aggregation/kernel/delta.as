// Differences of f64 vectors, which are padded with zeroes to a multiple of 8 elements. Sums run in two lanes.

@inline
function lanes(sum: v128): f64 {
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1)
}

// sum((a[i] - b[i])^2)
export function squaredDistance(a: usize, b: usize, length: i32): f64 {
  const end = a + <usize>length * 8
  let sum = f64x2.splat(0)
  for (; a < end; a += 16, b += 16) {
    const d = f64x2.sub(v128.load(a), v128.load(b))
    sum = f64x2.add(sum, f64x2.mul(d, d))
  }
  return lanes(sum)
}

// sum((a[i] - b[i]) * c[i])
export function projection(a: usize, b: usize, c: usize, length: i32): f64 {
  const end = a + <usize>length * 8
  let sum = f64x2.splat(0)
  for (; a < end; a += 16, b += 16, c += 16) {
    sum = f64x2.add(sum, f64x2.mul(f64x2.sub(v128.load(a), v128.load(b)), v128.load(c)))
  }
  return lanes(sum)
}

// sums[i] += weight * (a[i] - b[i])
export function addDelta(a: usize, b: usize, sums: usize, length: i32, weight: f64): void {
  const w = f64x2.splat(weight)
  const end = a + <usize>length * 8
  for (; a < end; a += 16, b += 16, sums += 16) {
    const d = f64x2.mul(w, f64x2.sub(v128.load(a), v128.load(b)))
    v128.store(sums, f64x2.add(v128.load(sums), d))
  }
}
