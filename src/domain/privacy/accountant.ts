import { grouped, type NoisySteps } from './mechanism.ts'
import { epsilonOfPld } from './pld.ts'
import { composedRdp, epsilonOfRdp } from './rdp.ts'

/** Which bound was the tighter one: Renyi differential privacy, or the numerically composed privacy loss distribution. */
export type Accountant = 'rdp' | 'pld'

export interface PrivacyLoss {
  /** The smaller one of both bounds: what counts as spent. */
  readonly epsilon: number
  readonly accountant: Accountant
  readonly rdp: number
  /** Null where only the other bound was computed. */
  readonly pld: number | null
}

/** Each kind of step costs a Fourier transform; beyond so many, similar ones are counted as the worst of them. */
const MOST_KINDS = 64
const FINEST_MERGE = 1 / 512
/** More kinds than these get a coarser grid, still within a thousandth, so that a sum takes no second. */
const KINDS_AT_EASE = 16
const HASTY_TOLERANCE = 4e-4

/**
 * What the rounds cost together at a delta: an upper bound of epsilon. `enough` ends it early: where the cheap bound is
 * not above it, the expensive one is not computed.
 */
export const privacyLoss = (
  rounds: readonly NoisySteps[],
  delta: number,
  options: { readonly enough?: number; readonly tolerance?: number } = {},
): PrivacyLoss => {
  const { enough = Number.NEGATIVE_INFINITY, ...precision } = options
  const kinds = grouped(rounds)
  const { epsilon: rdp, order } = epsilonOfRdp(composedRdp(kinds), delta)
  if (order === null) return { epsilon: 0, accountant: 'rdp', rdp: 0, pld: 0 }
  if (rdp <= enough || !Number.isFinite(rdp)) return { epsilon: rdp, accountant: 'rdp', rdp, pld: null }
  const few = fewKinds(kinds)
  const hasty = few.length > KINDS_AT_EASE ? { tolerance: HASTY_TOLERANCE } : {}
  const pld = epsilonOfPld(few, delta, { tilt: order - 1, ...hasty, ...precision })
  return pld !== null && pld < rdp
    ? { epsilon: pld, accountant: 'pld', rdp, pld }
    : { epsilon: rdp, accountant: 'rdp', rdp, pld }
}

/** At most `MOST_KINDS`: noise rounded down and sampling rates up, to steps of a geometric scale as fine as possible. */
const fewKinds = (kinds: readonly NoisySteps[]): readonly NoisySteps[] => {
  let few = kinds
  for (let step = FINEST_MERGE; few.length > MOST_KINDS; step *= 2) {
    few = grouped(
      kinds.map(({ noiseMultiplier, sampleRate, steps }) => ({
        noiseMultiplier: Math.min(noiseMultiplier, Math.exp(Math.floor(Math.log(noiseMultiplier) / step) * step)),
        sampleRate: Math.min(1, Math.max(sampleRate, Math.exp(Math.ceil(Math.log(sampleRate) / step) * step))),
        steps,
      })),
    )
  }
  return few
}
