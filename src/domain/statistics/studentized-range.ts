import { logGamma, normalDensity, normalUpper } from './special-functions.ts'

// Both integrals use the trapezoidal rule over the whole line, where it converges geometrically for such integrands (Trefethen
// and Weideman 2014).

/** Beyond 9 the normal density is below 1e-17 of its peak. */
const REACH = 9
const STEP = 0.3
const NEGLIGIBLE = 1e-18
/** Values this far apart do not occur: the density of one of them is 0 in doubles. */
const WIDEST = 80
/** A tail that is 0 in doubles down to this point counts as 0. */
const LOWEST = -60

/**
 * P(range > w) of k standard normal values. k∫φΦ^(k-1) = 1 and k∫φ(z)[Φ(z) - Φ(z-w)]^(k-1) are combined in one integral, as b^m
 * - (b - g)^m = b^m·(1 - (1 - g/b)^m), so that a small tail keeps its precision.
 */
const rangeUpper = (w: number, groups: number): number => {
  if (w > WIDEST) return 0
  const others = groups - 1
  let total = 0
  for (let z = -REACH; z < w / 2 + REACH; z += STEP) {
    const below = normalUpper(-z)
    const share = Math.min(1, normalUpper(w - z) / below)
    total -= normalDensity(z) * below ** others * Math.expm1(others * Math.log1p(-share))
  }
  return Math.min(1, groups * total * STEP)
}

/**
 * P(Q > q) of the studentized range of `groups` means whose common error has `degreesOfFreedom`: the range's tail at q·s,
 * averaged over the density of s = χ/√df (Copenhaver and Holland 1988), here over u = ln s.
 */
export const tukeyUpper = (q: number, groups: number, degreesOfFreedom: number): number => {
  if (!(q > 0)) return 1
  const half = degreesOfFreedom / 2
  // ln 2 + half·ln half - ln Γ(half) - half, by Stirling's series if that is a difference of huge numbers.
  const front =
    half > 1000
      ? Math.log(2) + 0.5 * Math.log(half / (2 * Math.PI)) - 1 / (12 * half)
      : Math.log(2) + half * Math.log(half) - logGamma(half) - half
  const spread = 1 / Math.sqrt(2 * degreesOfFreedom)
  const step = Math.min(0.1, spread * 0.6)
  let total = 0
  let before = 0
  // From where the density vanishes, down over the peak, until terms are negligible.
  for (let u = Math.log1p(12 * spread); ; u -= step) {
    const weight = Math.exp(front - half * (Math.expm1(2 * u) - 2 * u))
    const term = weight === 0 ? 0 : weight * rangeUpper(q * Math.exp(u), groups)
    total += term
    if (u < LOWEST || (total > 0 && term <= before && term <= total * NEGLIGIBLE)) return Math.min(1, total * step)
    before = term
  }
}
