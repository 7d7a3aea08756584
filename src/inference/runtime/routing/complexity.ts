import { type Question, type Signal, signalsOf } from './signals.ts'

export type { Question, Signal } from './signals.ts'

/** Changes whenever the same request may get another score: thresholds found by calibration hold for one of them. */
export const SCORING = 1

export interface Complexity {
  /** 0: the smallest model will do. Near 1: the biggest one is needed. */
  readonly score: number
  readonly signals: readonly Signal[]
}

/**
 * How demanding a request looks, by what can be seen of it without running a model: a guess, which `svc calibrate` checks
 * against the user's own prompts. Signals are combined as independent reasons (noisy-or, Pearl 1988, section 4.3.2):
 * score = 1 - product(1 - weight * value), so that one more reason never lowers it, and it stays below 1.
 */
export const complexity = (question: Question): Complexity => {
  const signals = signalsOf(question)
  const score = 1 - signals.reduce((left, { weight, value }) => left * (1 - weight * value), 1)
  return { score: Math.round(score * 1_000) / 1_000, signals }
}

/** The strongest reasons behind a score, for a log line: `code 0.45, steps 0.15`. */
export const reasonsOf = ({ signals }: Complexity, atMost = 3): string =>
  signals
    .map(({ name, weight, value }) => ({ name, share: weight * value }))
    .filter(({ share }) => share >= 0.005)
    .sort((a, b) => b.share - a.share)
    .slice(0, atMost)
    .map(({ name, share }) => `${name} ${share.toFixed(2)}`)
    .join(', ') || 'nothing demanding'
