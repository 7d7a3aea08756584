import type { BatchCosts } from '../batch-costs.ts'

/**
 * Tokens that a step of `drafts` guesses yields on average when each is right with probability `acceptance` if those before it
 * were: (1 - a^(k+1)) / (1 - a) (Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding,
 * 2023, equation 1). At least 1: the full model's own token.
 */
const expectedTokens = (acceptance: number, drafts: number): number =>
  acceptance >= 1 ? drafts + 1 : (1 - acceptance ** (drafts + 1)) / (1 - acceptance)

export interface Situation {
  readonly costs: BatchCosts
  /** How many texts are written at the same time. */
  readonly streams: number
  readonly acceptance: number
  /** Of one guess, in milliseconds. */
  readonly draftCost: number
  readonly most: number
}

// Below this a gain is lost in what the figures do not know.
const WORTH_IT = 1.05

/** How many guesses a step should check: as many as make tokens come fastest, and none where plain steps are as fast. */
export const bestDrafts = ({ costs, streams, acceptance, draftCost, most }: Situation): number => {
  const plain = costs.of(streams)
  let best = { drafts: 0, gain: WORTH_IT }
  for (let drafts = 1; drafts <= most; drafts++) {
    const cost = costs.of(streams * (drafts + 1)) + streams * drafts * draftCost
    const gain = (expectedTokens(acceptance, drafts) * plain) / cost
    if (gain > best.gain) best = { drafts, gain }
  }
  return best.drafts
}
