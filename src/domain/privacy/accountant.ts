import { createCompositions } from './composition.ts'
import { asCounted, grouped, type NoisySteps } from './mechanism.ts'
import { createMoments } from './moments.ts'
import { epsilonOfPld, type Steps } from './pld.ts'
import { composedRdp, epsilonOfRdp } from './rdp.ts'

/** Which bound was tighter: Rényi differential privacy, or the numerically composed privacy loss distribution. */
export type Accountant = 'rdp' | 'pld'

export interface PrivacyLoss {
  /** The smaller of the two bounds, which counts as spent. */
  readonly epsilon: number
  readonly accountant: Accountant
  readonly rdp: number
  /** Null if only the other bound was computed. */
  readonly pld: number | null
}

export interface LossOptions {
  /** Earlier rounds. Their sums are cached, so that adding another round is cheap. */
  readonly spent?: readonly NoisySteps[]
  /** Skips the expensive bound if the cheap one does not exceed this. */
  readonly enough?: number
  /** How much the expensive bound's grid may add to epsilon, and its maximum number of points: fewer are faster. */
  readonly tolerance?: number
  readonly points?: number
}

/** Each kind of step costs a Fourier transform. Beyond this limit, similar kinds are merged, and count as the worst of them. */
const MAX_KINDS = 256
const FINEST_MERGE = 1 / 2048
/** More kinds than these use a coarser grid, still accurate to a thousandth. */
const FINE_GRID_KINDS = 16
const COARSE_TOLERANCE = 4e-4

/** Computes the combined privacy loss of rounds. Caches results for kinds of rounds, and their sums. */
export const createAccounting = () => {
  const moments = createMoments()
  const compose = createCompositions()

  return {
    /** The cheap bound alone: Rényi differential privacy. */
    rdp(kinds: readonly NoisySteps[], delta: number): number {
      const counted = grouped(kinds.map(asCounted))
      return counted.length === 0 ? 0 : epsilonOfRdp(composedRdp(counted, moments.rdp), delta).epsilon
    },

    /** Returns an upper bound of epsilon for `more` rounds together with those `spent`, at the given delta. */
    loss(more: readonly NoisySteps[], delta: number, options: LossOptions = {}): PrivacyLoss {
      const { spent = [], enough = Number.NEGATIVE_INFINITY, ...precision } = options
      const counted = { spent: spent.map(asCounted), more: more.map(asCounted) }
      const kinds = grouped([...counted.spent, ...counted.more])
      if (kinds.length === 0) return { epsilon: 0, accountant: 'rdp', rdp: 0, pld: 0 }
      const { epsilon: rdp, order } = epsilonOfRdp(composedRdp(kinds, moments.rdp), delta)
      if (rdp <= enough || order === null) return { epsilon: rdp, accountant: 'rdp', rdp, pld: null }
      const few = fewKinds(counted)
      const coarse = kinds.length > FINE_GRID_KINDS ? { tolerance: COARSE_TOLERANCE } : {}
      const pld = epsilonOfPld(few, delta, { tilt: order - 1, ...coarse, ...precision }, { moments, compose })
      return pld !== null && pld < rdp
        ? { epsilon: pld, accountant: 'pld', rdp, pld }
        : { epsilon: rdp, accountant: 'rdp', rdp, pld }
    },
  }
}

export type Accounting = ReturnType<typeof createAccounting>

/** Returns the combined privacy loss of rounds at a delta, without a cache. */
export const privacyLoss = (
  rounds: readonly NoisySteps[],
  delta: number,
  options: Omit<LossOptions, 'spent'> = {},
): PrivacyLoss => createAccounting().loss(rounds, delta, options)

/** Merges to at most `MAX_KINDS`: noise is rounded down and sampling rates up, on the finest geometric scale that suffices. */
const fewKinds = ({ spent, more }: Steps): Steps => {
  let few = { spent: grouped(spent), more: grouped(more) }
  for (let step = FINEST_MERGE; few.spent.length + few.more.length > MAX_KINDS; step *= 2) {
    const coarser = ({ noiseMultiplier, sampleRate, steps }: NoisySteps): NoisySteps => ({
      noiseMultiplier: Math.min(noiseMultiplier, Math.exp(Math.floor(Math.log(noiseMultiplier) / step) * step)),
      sampleRate: Math.min(1, Math.max(sampleRate, Math.exp(Math.ceil(Math.log(sampleRate) / step) * step))),
      steps,
    })
    few = { spent: grouped(spent.map(coarser)), more: grouped(more.map(coarser)) }
  }
  return few
}
