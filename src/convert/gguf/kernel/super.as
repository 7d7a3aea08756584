// Super-blocks of 256 weights: Q4_K, Q5_K and Q6_K, as ggml's reference quantizers make them without an importance matrix
// (ggml-quants.c). Those add up weight after weight, and the bytes depend on that order; so four sub-blocks are
// computed side by side here, one in each lane, each in that order.
import { loadF16, storeF16 } from './simple'

// Scratch memory: weights, importances, best and tried levels of four sub-blocks, one vector for each place in them.
const IMPORTANCE: usize = 512
const BEST: usize = 1024
const TRIED: usize = 1536
// Levels of the super-block as bytes, then scale and minimum of each sub-block.
const LEVELS: usize = 2048
const SCALES: usize = 2304
const MINIMA: usize = 2368

// Four sub-blocks of `size` weights, one after another, to vectors with one of each.
@inline
function transpose(x: usize, size: usize, out: usize): void {
  for (let i: usize = 0; i < size * 4; i += 16, out += 64) {
    const a = v128.load(x + i)
    const b = v128.load(x + size * 4 + i)
    const c = v128.load(x + size * 8 + i)
    const d = v128.load(x + size * 12 + i)
    const abLow = v128.shuffle<i32>(a, b, 0, 4, 1, 5)
    const abHigh = v128.shuffle<i32>(a, b, 2, 6, 3, 7)
    const cdLow = v128.shuffle<i32>(c, d, 0, 4, 1, 5)
    const cdHigh = v128.shuffle<i32>(c, d, 2, 6, 3, 7)
    v128.store(out, v128.shuffle<i64>(abLow, cdLow, 0, 2))
    v128.store(out, v128.shuffle<i64>(abLow, cdLow, 1, 3), 16)
    v128.store(out, v128.shuffle<i64>(abHigh, cdHigh, 0, 2), 32)
    v128.store(out, v128.shuffle<i64>(abHigh, cdHigh, 1, 3), 48)
  }
}

// To the nearest whole number, ties to even, within [low, high].
@inline
function level(v: v128, low: v128, high: v128): v128 {
  return f32x4.pmax(f32x4.pmin(f32x4.nearest(v), high), low)
}

@inline
function nearestInt(value: f32): i32 {
  return <i32>nearest(value)
}

@inline
function storeLevels(scratch: usize, sub: usize, size: usize, add: f32): void {
  for (let i: usize = 0; i < size; i++) {
    const v = i32x4.trunc_sat_f32x4_s(f32x4.add(v128.load(scratch + BEST + i * 16), f32x4.splat(add)))
    const at = scratch + LEVELS + sub * size + i
    store<u8>(at, i32x4.extract_lane(v, 0))
    store<u8>(at + size, i32x4.extract_lane(v, 1))
    store<u8>(at + size * 2, i32x4.extract_lane(v, 2))
    store<u8>(at + size * 3, i32x4.extract_lane(v, 3))
  }
}

// Scale and minimum of four sub-blocks of 32 by weighted least squares around several first guesses (make_qkx2_quants).
@inline
function searchAffine(scratch: usize, sub: usize, top: f32, firstStep: f32, steps: i32): void {
  const zero = f32x4.splat(0)
  const high = f32x4.splat(top)
  let squares = zero
  for (let i: usize = 0; i < 512; i += 16) {
    const x = v128.load(scratch + i)
    squares = f32x4.add(squares, f32x4.mul(x, x))
  }
  const average = f32x4.sqrt(f32x4.div(squares, f32x4.splat(32)))
  const first = v128.load(scratch)
  let lowest = first
  let highest = first
  let sumW = zero
  let sumX = zero
  for (let i: usize = 0; i < 512; i += 16) {
    const x = v128.load(scratch + i)
    const w = f32x4.add(average, f32x4.abs(x))
    v128.store(scratch + IMPORTANCE + i, w)
    lowest = f32x4.pmin(lowest, x)
    highest = f32x4.pmax(highest, x)
    sumW = f32x4.add(sumW, w)
    sumX = f32x4.add(sumX, f32x4.mul(w, x))
  }
  lowest = f32x4.pmin(lowest, zero)
  const flat = f32x4.eq(highest, lowest)
  let minimum = lowest
  const inverse = f32x4.div(high, f32x4.sub(highest, minimum))
  let scale = f32x4.div(f32x4.splat(1), inverse)
  let bestError = zero
  for (let i: usize = 0; i < 512; i += 16) {
    const x = v128.load(scratch + i)
    const l = level(f32x4.mul(inverse, f32x4.sub(x, minimum)), zero, high)
    v128.store(scratch + BEST + i, l)
    const off = f32x4.sub(f32x4.add(f32x4.mul(scale, l), minimum), x)
    bestError = f32x4.add(bestError, f32x4.mul(v128.load(scratch + IMPORTANCE + i), f32x4.mul(off, off)))
  }
  for (let step = 0; step <= steps; step++) {
    const guess: f32 = firstStep + <f32>0.1 * <f32>step + top
    const factor = f32x4.div(f32x4.splat(guess), f32x4.sub(highest, minimum))
    let sumL = zero
    let sumL2 = zero
    let sumXL = zero
    for (let i: usize = 0; i < 512; i += 16) {
      const x = v128.load(scratch + i)
      const l = level(f32x4.mul(factor, f32x4.sub(x, minimum)), zero, high)
      v128.store(scratch + TRIED + i, l)
      const wl = f32x4.mul(v128.load(scratch + IMPORTANCE + i), l)
      sumL = f32x4.add(sumL, wl)
      sumL2 = f32x4.add(sumL2, f32x4.mul(wl, l))
      sumXL = f32x4.add(sumXL, f32x4.mul(wl, x))
    }
    const determinant = f32x4.sub(f32x4.mul(sumW, sumL2), f32x4.mul(sumL, sumL))
    let thisScale = f32x4.div(f32x4.sub(f32x4.mul(sumW, sumXL), f32x4.mul(sumX, sumL)), determinant)
    let thisMinimum = f32x4.div(f32x4.sub(f32x4.mul(sumL2, sumX), f32x4.mul(sumL, sumXL)), determinant)
    const above = f32x4.gt(thisMinimum, zero)
    thisMinimum = v128.andnot(thisMinimum, above)
    thisScale = v128.bitselect(f32x4.div(sumXL, sumL2), thisScale, above)
    let error = zero
    for (let i: usize = 0; i < 512; i += 16) {
      const off = f32x4.sub(
        f32x4.add(f32x4.mul(thisScale, v128.load(scratch + TRIED + i)), thisMinimum),
        v128.load(scratch + i),
      )
      error = f32x4.add(error, f32x4.mul(v128.load(scratch + IMPORTANCE + i), f32x4.mul(off, off)))
    }
    const better = v128.andnot(v128.and(f32x4.gt(determinant, zero), f32x4.lt(error, bestError)), flat)
    if (!v128.any_true(better)) continue
    for (let i: usize = 0; i < 512; i += 16) {
      const at = scratch + BEST + i
      v128.store(at, v128.bitselect(v128.load(scratch + TRIED + i), v128.load(at), better))
    }
    bestError = v128.bitselect(error, bestError, better)
    scale = v128.bitselect(thisScale, scale, better)
    minimum = v128.bitselect(thisMinimum, minimum, better)
  }
  for (let i: usize = 0; i < 512; i += 16) {
    const at = scratch + BEST + i
    v128.store(at, v128.andnot(v128.load(at), flat))
  }
  v128.store(scratch + SCALES + sub * 4, v128.andnot(scale, flat))
  v128.store(scratch + MINIMA + sub * 4, f32x4.neg(minimum))
  storeLevels(scratch, sub, 32, 0)
}

// Scale and minimum of the sub-blocks in six bits each: writes d, dmin and the twelve bytes of `scales`.
@inline
function packScales(scratch: usize, out: usize): void {
  let topScale: f32 = 0
  let topMinimum: f32 = 0
  for (let j: usize = 0; j < 32; j += 4) {
    topScale = max(topScale, load<f32>(scratch + SCALES + j))
    topMinimum = max(topMinimum, load<f32>(scratch + MINIMA + j))
  }
  const perScale: f32 = topScale > 0 ? 63 / topScale : 0
  const perMinimum: f32 = topMinimum > 0 ? 63 / topMinimum : 0
  storeF16(out, topScale / 63)
  storeF16(out + 2, topMinimum / 63)
  const bytes = out + 4
  for (let j: usize = 0; j < 8; j++) {
    const s = min<u32>(63, nearestInt(perScale * load<f32>(scratch + SCALES + j * 4)) & 255)
    const m = min<u32>(63, nearestInt(perMinimum * load<f32>(scratch + MINIMA + j * 4)) & 255)
    if (j < 4) {
      store<u8>(bytes + j, s)
      store<u8>(bytes + j + 4, m)
    } else {
      store<u8>(bytes + j + 4, (s & 15) | ((m & 15) << 4))
      store<u8>(bytes + j - 4, load<u8>(bytes + j - 4) | ((s >> 4) << 6))
      store<u8>(bytes + j, load<u8>(bytes + j) | ((m >> 4) << 6))
    }
  }
}

// The levels again, for the scales as they were stored.
@inline
function refine(scratch: usize, x: usize, out: usize, top: f32): void {
  const d = loadF16(out)
  const dmin = loadF16(out + 2)
  const bytes = out + 4
  for (let j: usize = 0; j < 8; j++) {
    let s: u32 = 0
    let m: u32 = 0
    if (j < 4) {
      s = load<u8>(bytes + j) & 63
      m = load<u8>(bytes + j + 4) & 63
    } else {
      s = (load<u8>(bytes + j + 4) & 15) | ((<u32>load<u8>(bytes + j - 4) >> 6) << 4)
      m = (<u32>load<u8>(bytes + j + 4) >> 4) | ((<u32>load<u8>(bytes + j) >> 6) << 4)
    }
    const scale: f32 = d * <f32>s
    if (scale == 0) continue
    const minimum: f32 = dmin * <f32>m
    const scales = f32x4.splat(scale)
    const minima = f32x4.splat(minimum)
    for (let i: usize = 0; i < 32; i += 4) {
      const v = f32x4.div(f32x4.add(v128.load(x + (j * 32 + i) * 4), minima), scales)
      const l = i32x4.trunc_sat_f32x4_s(level(v, f32x4.splat(0), f32x4.splat(top)))
      const words = i16x8.narrow_i32x4_u(l, l)
      store<u32>(scratch + LEVELS + j * 32 + i, i32x4.extract_lane(i8x16.narrow_i16x8_u(words, words), 0))
    }
  }
}

@inline
function levelAt(scratch: usize, at: usize): u32 {
  return load<u8>(scratch + LEVELS + at)
}

export function toQ4_K(x: usize, out: usize, length: i32, scratch: usize): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 1024, out += 144) {
    for (let sub: usize = 0; sub < 8; sub += 4) {
      transpose(x + sub * 128, 32, scratch)
      searchAffine(scratch, sub, 15, -1, 20)
    }
    packScales(scratch, out)
    refine(scratch, x, out, 15)
    for (let n: usize = 0; n < 4; n++)
      for (let i: usize = 0; i < 32; i += 16) {
        const low = v128.load(scratch + LEVELS + n * 64 + i)
        const high = v128.load(scratch + LEVELS + n * 64 + 32 + i)
        v128.store(out + 16 + n * 32 + i, v128.or(low, i8x16.shl(high, 4)))
      }
  }
}

export function toQ5_K(x: usize, out: usize, length: i32, scratch: usize): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 1024, out += 176) {
    for (let sub: usize = 0; sub < 8; sub += 4) {
      transpose(x + sub * 128, 32, scratch)
      searchAffine(scratch, sub, 31, -0.5, 15)
    }
    packScales(scratch, out)
    refine(scratch, x, out, 31)
    for (let i: usize = 0; i < 32; i++) {
      let high: u32 = 0
      for (let n: usize = 0; n < 4; n++) {
        const a = levelAt(scratch, n * 64 + i)
        const b = levelAt(scratch, n * 64 + 32 + i)
        high |= ((a >> 4) << <u32>(n * 2)) | ((b >> 4) << <u32>(n * 2 + 1))
        store<u8>(out + 48 + n * 32 + i, (a & 15) | ((b & 15) << 4))
      }
      store<u8>(out + 16 + i, high)
    }
  }
}

const EPSILON: f32 = 1e-15

// Scales of four sub-blocks of 16 weights, with levels of -32 to 31 (make_qx_quants, weighted by the squares).
@inline
function searchSymmetric(scratch: usize, sub: usize): void {
  const zero = f32x4.splat(0)
  const low = f32x4.splat(-32)
  const high = f32x4.splat(31)
  let magnitude = zero
  let extreme = zero
  for (let i: usize = 0; i < 256; i += 16) {
    const x = v128.load(scratch + i)
    const larger = f32x4.gt(f32x4.abs(x), magnitude)
    magnitude = v128.bitselect(f32x4.abs(x), magnitude, larger)
    extreme = v128.bitselect(x, extreme, larger)
  }
  const empty = f32x4.lt(magnitude, f32x4.splat(EPSILON))
  let scale = zero
  let best = zero
  for (let trial = -10; trial <= 9; trial++) {
    if (trial == 0) continue
    // The first is the one without a shift.
    const shift: f32 = trial == -10 ? 0 : <f32>0.1 * <f32>trial
    const factor = f32x4.div(f32x4.splat(-(<f32>32 + shift)), extreme)
    let sumLX = zero
    let sumL2 = zero
    for (let i: usize = 0; i < 256; i += 16) {
      const x = v128.load(scratch + i)
      const l = level(f32x4.mul(factor, x), low, high)
      v128.store(scratch + TRIED + i, l)
      const w = f32x4.mul(x, x)
      sumLX = f32x4.add(sumLX, f32x4.mul(f32x4.mul(w, x), l))
      sumL2 = f32x4.add(sumL2, f32x4.mul(f32x4.mul(w, l), l))
    }
    const positive = f32x4.gt(sumL2, zero)
    let better = v128.and(positive, f32x4.gt(f32x4.mul(sumLX, sumLX), f32x4.mul(best, sumL2)))
    if (trial == -10) better = i32x4.splat(-1)
    else if (!v128.any_true(better)) continue
    for (let i: usize = 0; i < 256; i += 16) {
      const at = scratch + BEST + i
      v128.store(at, v128.bitselect(v128.load(scratch + TRIED + i), v128.load(at), better))
    }
    scale = v128.bitselect(v128.and(f32x4.div(sumLX, sumL2), positive), scale, better)
    best = v128.bitselect(f32x4.mul(scale, sumLX), best, better)
  }
  for (let i: usize = 0; i < 256; i += 16) {
    const at = scratch + BEST + i
    v128.store(at, v128.bitselect(f32x4.splat(-32), v128.load(at), empty))
  }
  v128.store(scratch + SCALES + sub * 4, v128.andnot(scale, empty))
  storeLevels(scratch, sub, 16, 32)
}

export function toQ6_K(x: usize, out: usize, length: i32, scratch: usize): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 1024, out += 210) {
    let magnitude: f32 = 0
    let top: f32 = 0
    for (let sub: usize = 0; sub < 16; sub += 4) {
      transpose(x + sub * 64, 16, scratch)
      searchSymmetric(scratch, sub)
    }
    for (let j: usize = 0; j < 64; j += 4) {
      const scale = load<f32>(scratch + SCALES + j)
      if (abs(scale) > magnitude) {
        magnitude = abs(scale)
        top = scale
      }
    }
    memory.fill(out, 0, 210)
    if (magnitude < EPSILON) continue
    const perScale: f32 = -128 / top
    storeF16(out + 208, 1 / perScale)
    const d = loadF16(out + 208)
    for (let j: usize = 0; j < 16; j++) {
      const stored = min(127, nearestInt(perScale * load<f32>(scratch + SCALES + j * 4)))
      store<i8>(out + 192 + j, stored)
      const scale: f32 = d * <f32>(<i8>stored)
      if (scale == 0) continue
      for (let i: usize = 0; i < 16; i++) {
        const l = max(-32, min(31, nearestInt(load<f32>(x + (j * 16 + i) * 4) / scale)))
        store<u8>(scratch + LEVELS + j * 16 + i, l + 32)
      }
    }
    for (let n: usize = 0; n < 2; n++)
      for (let i: usize = 0; i < 32; i++) {
        const a = levelAt(scratch, n * 128 + i)
        const b = levelAt(scratch, n * 128 + 32 + i)
        const c = levelAt(scratch, n * 128 + 64 + i)
        const e = levelAt(scratch, n * 128 + 96 + i)
        store<u8>(out + n * 64 + i, (a & 15) | ((c & 15) << 4))
        store<u8>(out + n * 64 + 32 + i, (b & 15) | ((e & 15) << 4))
        store<u8>(out + 128 + n * 32 + i, (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((e >> 4) << 6))
      }
  }
}
