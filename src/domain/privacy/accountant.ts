import { createCompositions } from './composition.ts'
import { asCounted, grouped, type NoisySteps } from './mechanism.ts'
import { createMoments } from './moments.ts'
import { epsilonOfPld, type Steps } from './pld.ts'
import { epsilonOfRdp, ORDERS } from './rdp.ts'

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

export interface LossOptions {
  /** What was there before: sums of it are remembered, and another round on top of it costs little. */
  readonly spent?: readonly NoisySteps[]
  /** Ends it early: where the cheap bound is not above it, the expensive one is not computed. */
  readonly enough?: number
  /** What the expensive bound's grid may add to epsilon, and how many points it may have: fewer take less time. */
  readonly tolerance?: number
  readonly points?: number
}

/** Each kind of step costs a Fourier transform; beyond so many, similar ones are counted as the worst of them. */
const MAX_KINDS = 256
const FINEST_MERGE = 1 / 2048
/** More kinds than these get a coarser grid, still within a thousandth. */
const KINDS_AT_EASE = 16
const HASTY_TOLERANCE = 4e-4

/** What rounds cost together. It remembers what it computed about kinds of rounds, and sums of them. */
export const createAccounting = () => {
  const moments = createMoments()
  const compose = createCompositions()

  function composedRdp(kinds: readonly NoisySteps[]): number[] {
    const sums = ORDERS.map(() => 0)
    for (const kind of kinds) {
      const rdp = moments.rdp(kind)
      for (let n = 0; n < sums.length; n++) sums[n]! += kind.steps * rdp[n]!
    }
    return sums
  }

  return {
    /** The cheap bound alone: Renyi differential privacy. */
    rdp(kinds: readonly NoisySteps[], delta: number): number {
      const counted = grouped(kinds.map(asCounted))
      return counted.length === 0 ? 0 : epsilonOfRdp(composedRdp(counted), delta).epsilon
    },

    /** What `more` rounds and those `spent` cost together at a delta: an upper bound of epsilon. */
    loss(more: readonly NoisySteps[], delta: number, options: LossOptions = {}): PrivacyLoss {
      const { spent = [], enough = Number.NEGATIVE_INFINITY, ...precision } = options
      const counted = { spent: spent.map(asCounted), more: more.map(asCounted) }
      const kinds = grouped([...counted.spent, ...counted.more])
      if (kinds.length === 0) return { epsilon: 0, accountant: 'rdp', rdp: 0, pld: 0 }
      const { epsilon: rdp, order } = epsilonOfRdp(composedRdp(kinds), delta)
      if (rdp <= enough || order === null) return { epsilon: rdp, accountant: 'rdp', rdp, pld: null }
      const few = fewKinds(counted)
      const hasty = kinds.length > KINDS_AT_EASE ? { tolerance: HASTY_TOLERANCE } : {}
      const pld = epsilonOfPld(few, delta, { tilt: order - 1, ...hasty, ...precision }, { moments, compose })
      return pld !== null && pld < rdp
        ? { epsilon: pld, accountant: 'pld', rdp, pld }
        : { epsilon: rdp, accountant: 'rdp', rdp, pld }
    },
  }
}

export type Accounting = ReturnType<typeof createAccounting>

/** What rounds cost together at a delta, computed at once and by nothing that was remembered. */
export const privacyLoss = (
  rounds: readonly NoisySteps[],
  delta: number,
  options: Omit<LossOptions, 'spent'> = {},
): PrivacyLoss => createAccounting().loss(rounds, delta, options)

/** At most `MAX_KINDS`: noise rounded down and sampling rates up, to steps of a geometric scale as fine as possible. */
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
