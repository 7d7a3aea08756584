import { createAccounting, type PrivacyLoss } from '../../../domain/privacy/accountant.ts'
import type { NoisySteps } from '../../../domain/privacy/mechanism.ts'
import { noiseForEpsilon, roundsLeft } from '../../../domain/privacy/planning.ts'

/** The questions that an accountant answers. `spent` is what came before: sums of it are cached. */
export type AccountingRequest =
  /** The cost of `more` on top of `spent`. With `enough`, a bound of at most that value need not be the tightest. */
  | {
      readonly kind: 'loss'
      readonly spent: readonly NoisySteps[]
      readonly more: readonly NoisySteps[]
      readonly delta: number
      readonly enough: number | null
    }
  /** The minimum noise for a plan; null if no amount of noise is enough. */
  | {
      readonly kind: 'noise'
      readonly spent: readonly NoisySteps[]
      readonly epsilon: number
      readonly delta: number
      readonly sampleRate: number
      readonly steps: number
    }
  /** How many more such rounds fit into an epsilon. */
  | {
      readonly kind: 'rounds'
      readonly spent: readonly NoisySteps[]
      readonly epsilon: number
      readonly delta: number
      readonly round: NoisySteps
    }

export interface Results {
  readonly loss: PrivacyLoss
  readonly noise: number | null
  readonly rounds: number
}

export type Result = Results[AccountingRequest['kind']]

export type Reply = { readonly ok: true; readonly result: Result } | { readonly ok: false; readonly stack: string }

/** Answers one question after another, and caches the sums that further rounds are added to. */
export const createAccountant = () => {
  const accounting = createAccounting()
  return (question: AccountingRequest): Result => {
    switch (question.kind) {
      case 'loss': {
        const { spent, more, delta, enough } = question
        return accounting.loss(more, delta, enough === null ? { spent } : { spent, enough })
      }
      case 'noise':
        return noiseForEpsilon(question, accounting)
      case 'rounds':
        return roundsLeft(question, accounting)
    }
  }
}
