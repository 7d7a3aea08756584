import { badRequest } from '../errors.ts'

/** One kind of noisy step, and how often it was taken: the unit of accounting. */
export interface NoisySteps {
  /** The noise's standard deviation divided by the bound on one participant's contribution. */
  readonly noiseMultiplier: number
  /** The probability that a participant takes part in a step, independently of all others (Poisson sampling); 0..1. */
  readonly sampleRate: number
  readonly steps: number
}

/**
 * The range of exact accounting: noise from 0.01 to 1e6 and sampling rates from 1e-9. Outside it, the loss is overestimated:
 * more noise counts as 1e6, lower rates as 1e-9, and with less noise all participants count as taking part.
 */
const EXACT = { leastNoise: 0.01, mostNoise: 1e6, leastRate: 1e-9 }
export const MAX_NOISE = EXACT.mostNoise
/** More noise than this destroys an update; rounds refuse it. */
export const MAX_ROUND_NOISE = 1000
/** With less noise epsilon exceeds 1e17, and its square soon overflows. */
const MIN_NOISE = 1e-9

/** Returns the steps as counted; their loss is never underestimated. */
export const asCounted = ({ noiseMultiplier, sampleRate, steps }: NoisySteps): NoisySteps => ({
  noiseMultiplier: Math.min(noiseMultiplier, EXACT.mostNoise),
  sampleRate: noiseMultiplier < EXACT.leastNoise ? 1 : Math.max(sampleRate, EXACT.leastRate),
  steps,
})

/** Throws bad_request naming the parameter if the privacy loss would not be finite. Without noise it is infinite. */
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

/** The delta at which epsilon is reported by default, as for a federation's budget. */
export const DEFAULT_DELTA = 1e-5

/** Returns a key that is equal for equal kinds of steps. */
export const nameOfKind = ({ noiseMultiplier, sampleRate }: NoisySteps): string => `${noiseMultiplier} ${sampleRate}`

/** Merges steps of equal kinds, in a fixed order. */
export const grouped = (rounds: readonly NoisySteps[]): NoisySteps[] => {
  const byKind = new Map<string, NoisySteps>()
  for (const round of rounds) {
    const kind = nameOfKind(round)
    const steps = (byKind.get(kind)?.steps ?? 0) + round.steps
    if (steps > 0) byKind.set(kind, { ...round, steps })
  }
  return [...byKind.values()].sort((a, b) => a.noiseMultiplier - b.noiseMultiplier || a.sampleRate - b.sampleRate)
}

/** Returns the number of steps of all kinds together. */
export const stepsOf = (kinds: readonly NoisySteps[]): number => kinds.reduce((sum, { steps }) => sum + steps, 0)
