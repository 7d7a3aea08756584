import { type Signal, signalsOf } from './signals.ts'

/** Changed when the same request may get another score, because calibrated limits hold for one scoring only. */
export const SCORING = 1

export interface Complexity {
  /** 0: the smallest model is sufficient. Near 1: the biggest one is needed. */
  readonly score: number
  readonly signals: readonly Signal[]
}

/**
 * Estimates how demanding a request is without running a model: a guess, which `svc calibrate` checks against the user's own
 * prompts. Signals are combined as independent reasons (noisy-or, Pearl 1988, section 4.3.2): score = 1 - product(1 - weight *
 * value), so that another reason never lowers it, and it stays below 1.
 */
export const complexity = (question: Parameters<typeof signalsOf>[0]): Complexity => {
  const signals = signalsOf(question)
  const score = 1 - signals.reduce((left, { weight, value }) => left * (1 - weight * value), 1)
  return { score: Math.round(score * 1_000) / 1_000, signals }
}

/** Lists the strongest reasons for a score, for a log line: `code 0.45, steps 0.15`. */
export const reasonsOf = ({ signals }: Complexity, atMost = 3): string =>
  signals
    .map(({ name, weight, value }) => ({ name, share: weight * value }))
    .filter(({ share }) => share >= 0.005)
    .sort((a, b) => b.share - a.share)
    .slice(0, atMost)
    .map(({ name, share }) => `${name} ${share.toFixed(2)}`)
    .join(', ') || 'nothing demanding'
