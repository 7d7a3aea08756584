import { normalUpper } from '../statistics/special-functions.ts'
import { inverseLoss, lossOf } from './sampled-gaussian.ts'

/** Which of two neighboring data sets contains the extra participant. Both directions must be protected. */
export const DIRECTIONS = ['remove', 'add'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** The privacy loss of one step on a grid: (first + i) * width with probability masses[i], otherwise infinite. */
export interface LossGrid {
  readonly width: number
  readonly first: number
  readonly masses: Float64Array
  readonly infinite: number
}

// Gauss-Legendre rules on [-1, 1]: two points for narrow panels, four for others.
const NARROW = { at: [-1 / Math.sqrt(3), 1 / Math.sqrt(3)], weight: [1, 1] }
const WIDE = {
  at: [-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526],
  weight: [0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538],
}

/**
 * Returns one step's privacy loss, never underestimated. Each loss between two grid points is split between them so that its
 * probability and its e^-loss are preserved: deltas at grid points are exact, and in between they lie on a chord, which is
 * above the curve (connecting the dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). Outputs beyond `reach` standard
 * deviations count as an infinite loss on the side of large losses, and as the largest of their kind on the other.
 */
export function lossGrid(
  sigma: number,
  q: number,
  direction: Direction,
  { width, reach }: { readonly width: number; readonly reach: number },
): LossGrid {
  const isRemove = direction === 'remove'
  const sign = isRemove ? 1 : -1
  const exponent = (z: number): number => (2 * z - 1) / (2 * sigma * sigma)
  const scale = 1 / (sigma * Math.sqrt(2 * Math.PI))
  const upper = (z: number): number =>
    isRemove ? (1 - q) * normalUpper(z / sigma) + q * normalUpper((z - 1) / sigma) : normalUpper(z / sigma)
  const lower = (z: number): number =>
    isRemove ? (1 - q) * normalUpper(-z / sigma) + q * normalUpper((1 - z) / sigma) : normalUpper(-z / sigma)
  const left = -reach * sigma
  const right = (isRemove ? 1 : 0) + reach * sigma

  const ends = [sign * lossOf(q, exponent(left)), sign * lossOf(q, exponent(right))] as const
  const first = Math.floor(Math.min(...ends) / width)
  const last = Math.floor(Math.max(...ends) / width) + 1
  const masses = new Float64Array(last - first + 1)

  const perBin = Math.expm1(-width)
  const narrow = sigma / 50
  const widest = Math.min(sigma / 4, (sigma * sigma) / 2)
  const place = (from: number, to: number, bin: number): void => {
    if (!(to > from)) return
    const panels = Math.ceil((to - from) / widest)
    const half = (to - from) / panels / 2
    const rule = 2 * half < narrow && 2 * half < widest / 8 ? NARROW : WIDE
    const base = (first + bin) * width
    const shift = Math.expm1(base)
    for (let panel = 0; panel < panels; panel++) {
      const middle = from + (2 * panel + 1) * half
      for (let point = 0; point < rule.at.length; point++) {
        const z = middle + rule.at[point]! * half
        const w = exponent(z)
        const absent = scale * Math.exp((-z * z) / (2 * sigma * sigma))
        const excess = q * Math.expm1(w)
        // With the participant, the output is a mixture around both centers; without, it is centered at 0.
        let density = isRemove ? absent * (1 + excess) : absent
        // e^-(loss - base) - 1, without a logarithm unless it could overflow.
        let fall = isRemove ? (shift - excess) / (1 + excess) : shift + excess * (1 + shift)
        // If the ratio nearly vanishes, 1 + excess has lost its precision.
        if (w > 30 || base > 30 || excess < -0.99) {
          if (isRemove) density = (1 - q) * absent + q * scale * Math.exp((-(z - 1) * (z - 1)) / (2 * sigma * sigma))
          fall = Math.expm1(base - sign * lossOf(q, w))
        }
        const mass = rule.weight[point]! * half * density
        const share = Math.min(1, Math.max(0, fall / perBin))
        masses[bin] = masses[bin]! + mass * (1 - share)
        masses[bin + 1] = masses[bin + 1]! + mass * share
      }
    }
  }

  const outputOf = (loss: number): number => sigma * sigma * inverseLoss(q, sign * loss) + 0.5
  let edge = isRemove ? left : right
  for (let bin = 0; bin < masses.length - 1; bin++) {
    const next = outputOf((first + bin + 1) * width)
    const bounded = isRemove ? Math.min(right, Math.max(edge, next)) : Math.max(left, Math.min(edge, next))
    const isLast = bin === masses.length - 2
    const to = isLast ? (isRemove ? right : left) : bounded
    place(Math.min(edge, to), Math.max(edge, to), bin)
    edge = to
  }

  const infinite = isRemove ? upper(right) : lower(left)
  const smallest = isRemove ? lower(left) : upper(right)
  const within = masses.reduce((sum, mass) => sum + mass, 0)
  const correction = (1 - infinite - smallest) / within
  for (let bin = 0; bin < masses.length; bin++) masses[bin] = masses[bin]! * correction
  masses[1] = masses[1]! + smallest
  return { width, first, masses, infinite }
}
