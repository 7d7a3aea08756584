import { errorMessage } from '../../../../domain/error-message.ts'
import type { Speculation } from '../../engine.ts'
import type { BatchCosts } from '../batch-costs.ts'
import type { Occupied } from '../batch-plan.ts'
import type { Choice } from '../choice.ts'

/**
 * Guesses how a text continues. The full model checks all guesses in one batch and keeps those that match its own tokens, so a
 * wrong guess costs only time.
 */
export interface Proposer {
  readonly kind: Speculation['kind']
  /**
   * Returns at most `max` tokens that may follow `tokens`, the whole text so far; none if there is no guess. `slot` stays the
   * same for a text. A new text in the same slot may start without notice.
   */
  propose(slot: number, tokens: readonly number[], max: number): readonly number[] | Promise<readonly number[]>
  close(): Promise<void>
}

/**
 * The average number of tokens that a step with `drafts` guesses yields, if each is right with probability `acceptance` when
 * all before it are: (1 - a^(k+1)) / (1 - a) (Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative
 * Decoding, 2023, equation 1). At least 1: the full model's own token.
 */
const expectedTokens = (acceptance: number, drafts: number): number =>
  acceptance >= 1 ? drafts + 1 : (1 - acceptance ** (drafts + 1)) / (1 - acceptance)

export interface Situation {
  readonly costs: BatchCosts
  /** How many texts are being written at the same time. */
  readonly streams: number
  readonly acceptance: number
  /** Milliseconds per guess. */
  readonly draftCost: number
  readonly most: number
}

// A smaller gain is within the error of the measurements.
const WORTH_IT = 1.05

/** Returns the number of guesses per step that gives the most tokens per second; 0 if plain steps are as fast. */
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

/** Proposes tokens when that pays off, and learns from the results. */
export interface Speculator {
  /** Sets the drafts of the choices that are writing. */
  draft(writing: readonly Occupied[]): Promise<void>
  checked(choice: Choice, drafted: number, confirmed: number): void
}

// The assumed acceptance rate at the start, weighted like this many observed guesses.
const FIRST_ACCEPTANCE = 0.7
const FIRST_SEEN = 4
const MAX_SEEN = 64
// If guessing did not pay off for a text, it is tried again with this many guesses after this many tokens.
const TRY_AGAIN = 32
const TRIAL = 2

interface Experience {
  seen: number
  right: number
}

/** Weights recent results more: old ones are repeatedly halved. */
const learn = (experience: Experience, drafted: number, confirmed: number): void => {
  // A guess after a wrong one says nothing.
  experience.seen += Math.min(drafted, confirmed + 1)
  experience.right += confirmed
  if (experience.seen > MAX_SEEN) {
    experience.seen /= 2
    experience.right /= 2
  }
}

/** Closes a proposer after its first failure; replies then continue without guesses. */
export const createSpeculator = (
  proposer: Proposer,
  costs: BatchCosts,
  mostDrafts: number,
  warn: (message: string) => void,
): Speculator => {
  let hasFailed = false
  const all: Experience = { seen: FIRST_SEEN, right: FIRST_SEEN * FIRST_ACCEPTANCE }
  const own = new WeakMap<Choice, Experience>()
  const triedAt = new WeakMap<Choice, number>()
  let draftCost = 0

  const experienceOf = (choice: Choice): Experience => {
    const known = own.get(choice) ?? { seen: FIRST_SEEN, right: (FIRST_SEEN * all.right) / all.seen }
    own.set(choice, known)
    return known
  }

  const draftCount = (choice: Choice, streams: number): number => {
    const { seen, right } = experienceOf(choice)
    const most = Math.min(mostDrafts, choice.limit - choice.tokens.length - 1)
    const best = bestDrafts({ costs, streams, acceptance: right / seen, draftCost, most })
    if (best > 0) return best
    const since = choice.tokens.length - (triedAt.get(choice) ?? choice.promptTokens)
    if (streams > 1 || since < TRY_AGAIN) return 0
    triedAt.set(choice, choice.tokens.length)
    return Math.min(TRIAL, most)
  }

  const guess = async (slot: number, tokens: readonly number[], count: number): Promise<readonly number[]> => {
    try {
      return (await proposer.propose(slot, tokens, count)).slice(0, count)
    } catch (error) {
      hasFailed = true
      warn(`speculative decoding has failed and is off from here on: ${errorMessage(error)}`)
      await proposer.close().catch(() => undefined)
      return []
    }
  }

  return {
    draft: async (writing) => {
      const began = performance.now()
      let drafted = 0
      for (const { slot, choice } of writing) {
        const count = hasFailed ? 0 : draftCount(choice, writing.length)
        choice.drafts = count > 0 ? await guess(slot, choice.tokens, count) : []
        drafted += choice.drafts.length
      }
      if (drafted > 0) draftCost = draftCost * 0.8 + ((performance.now() - began) / drafted) * 0.2
    },
    checked: (choice, drafted, confirmed) => {
      learn(all, drafted, confirmed)
      learn(experienceOf(choice), drafted, confirmed)
      choice.speculation = {
        kind: proposer.kind,
        drafted: (choice.speculation?.drafted ?? 0) + drafted,
        confirmed: (choice.speculation?.confirmed ?? 0) + confirmed,
      }
    },
  }
}
