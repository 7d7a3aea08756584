import { createAccounting, type PrivacyLoss } from '../../../domain/privacy/accountant.ts'
import type { NoisySteps } from '../../../domain/privacy/mechanism.ts'
import { noiseForEpsilon, roundsLeft } from '../../../domain/privacy/planning.ts'

/** What an accountant can be asked. `spent` is what there was before: sums of it are remembered. */
export type AccountingRequest =
  /** What `more` costs on top of `spent`. With `enough`, a bound that is not above it need not be the tightest. */
  | {
      readonly kind: 'loss'
      readonly spent: readonly NoisySteps[]
      readonly more: readonly NoisySteps[]
      readonly delta: number
      readonly enough: number | null
    }
  /** The least noise for a plan; null when no noise is enough. */
  | {
      readonly kind: 'noise'
      readonly spent: readonly NoisySteps[]
      readonly epsilon: number
      readonly delta: number
      readonly sampleRate: number
      readonly steps: number
    }
  /** How many more such rounds fit an epsilon. */
  | {
      readonly kind: 'rounds'
      readonly spent: readonly NoisySteps[]
      readonly epsilon: number
      readonly delta: number
      readonly round: NoisySteps
    }

export interface Answers {
  readonly loss: PrivacyLoss
  readonly noise: number | null
  readonly rounds: number
}

export type Answer = Answers[AccountingRequest['kind']]

export type Reply = { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly stack: string }

/** Answers one question after another, and remembers sums that further rounds are put on top of. */
export const createAnswering = () => {
  const accounting = createAccounting()
  return (question: AccountingRequest): Answer => {
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
