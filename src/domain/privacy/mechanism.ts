import { badRequest } from '../errors.ts'

/** One kind of noisy step, and how often it was taken: what an accountant adds up. */
export interface NoisySteps {
  /** Standard deviation of the noise over the bound on one participant's contribution. */
  readonly noiseMultiplier: number
  /** The chance with which a participant takes part in a step, independently of all others (Poisson sampling); 0..1. */
  readonly sampleRate: number
  readonly steps: number
}

/** bad_request where no finite privacy loss follows, naming the parameter. Without noise it is infinite. */
export const requireNoisySteps = ({ noiseMultiplier, sampleRate, steps }: NoisySteps): void => {
  if (!(noiseMultiplier > 0 && Number.isFinite(noiseMultiplier))) {
    throw badRequest('noise_multiplier must be above 0: without noise the privacy loss is infinite.')
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
