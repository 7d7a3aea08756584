import { badRequest } from '../errors.ts'

/** One kind of noisy step, and how often it was taken: what an accountant adds up. */
export interface NoisySteps {
  /** Standard deviation of the noise over the bound on one participant's contribution. */
  readonly noiseMultiplier: number
  /** The chance with which a participant takes part in a step, independently of all others (Poisson sampling); 0..1. */
  readonly sampleRate: number
  readonly steps: number
}

/**
 * Where accounting is exact: noise from 0.01 to 1e6 and sampling rates from 1e-9. Beyond, what is counted costs more than
 * what was done: noise above counts as 1e6, lower rates as 1e-9, and under less noise everybody counts as taking part.
 */
const EXACT = { leastNoise: 0.01, mostNoise: 1e6, leastRate: 1e-9 }
export const MAX_NOISE = EXACT.mostNoise
/** More noise than that leaves nothing of an update; rounds refuse it. */
export const MAX_ROUND_NOISE = 1000
/** With less noise epsilon is above 1e17, and its square leaves the range of numbers soon after. */
const MIN_NOISE = 1e-9

/** The steps as they are counted: never as less than they cost. */
export const asCounted = ({ noiseMultiplier, sampleRate, steps }: NoisySteps): NoisySteps => ({
  noiseMultiplier: Math.min(noiseMultiplier, EXACT.mostNoise),
  sampleRate: noiseMultiplier < EXACT.leastNoise ? 1 : Math.max(sampleRate, EXACT.leastRate),
  steps,
})

/** bad_request where no finite privacy loss follows, naming the parameter. Without noise it is infinite. */
export const requireNoisySteps = ({ noiseMultiplier, sampleRate, steps }: NoisySteps): void => {
  if (!(noiseMultiplier > 0 && Number.isFinite(noiseMultiplier))) {
    throw badRequest('noise_multiplier must be above 0: without noise the privacy loss is infinite.')
  }
  if (noiseMultiplier < MIN_NOISE) {
    throw badRequest(
      `noise_multiplier ${noiseMultiplier} is below ${MIN_NOISE}, which gives no protection. Use at least ${MIN_NOISE}; ` +
        'common values lie between 0.5 and 10.',
    )
  }
  if (!(sampleRate > 0 && sampleRate <= 1)) throw badRequest('sample_rate must be above 0 and at most 1.')
  if (!(Number.isSafeInteger(steps) && steps >= 1)) throw badRequest('num_steps must be a whole number of at least 1.')
}

export const requireDelta = (delta: number): void => {
  if (!(delta > 0 && delta < 1)) throw badRequest('target_delta must be above 0 and below 1.')
}

/** What epsilon is told at where nobody named a delta: the interface's default for a federation's budget. */
export const DEFAULT_DELTA = 1e-5

/** What makes two kinds of steps the same. */
export const nameOfKind = ({ noiseMultiplier, sampleRate }: NoisySteps): string => `${noiseMultiplier} ${sampleRate}`

/** The same steps with equal kinds as one, in a fixed order. */
export const grouped = (rounds: readonly NoisySteps[]): NoisySteps[] => {
  const byKind = new Map<string, NoisySteps>()
  for (const round of rounds) {
    const kind = nameOfKind(round)
    const steps = (byKind.get(kind)?.steps ?? 0) + round.steps
    if (steps > 0) byKind.set(kind, { ...round, steps })
  }
  return [...byKind.values()].sort((a, b) => a.noiseMultiplier - b.noiseMultiplier || a.sampleRate - b.sampleRate)
}

/** How many steps there are of all kinds together. */
export const stepsOf = (kinds: readonly NoisySteps[]): number => kinds.reduce((sum, { steps }) => sum + steps, 0)
