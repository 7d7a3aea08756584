import type { Speculation } from '../../engine.ts'
import type { BatchCosts } from '../batch-costs.ts'
import type { Occupied } from '../batch-plan.ts'
import type { Choice } from '../choice.ts'

/**
 * Guesses how a text goes on. The full model checks all guesses in one batch and keeps those that it would have said itself,
 * so a proposer may be wrong, and costs only time then.
 */
export interface Proposer {
  readonly kind: Speculation['kind']
  /**
   * At most `max` tokens that may follow `tokens`, the whole text so far; none where it has no guess. `slot` is the same for
   * one text from its first to its last call; a new text in the same slot may begin without notice.
   */
  propose(slot: number, tokens: readonly number[], max: number): readonly number[] | Promise<readonly number[]>
  close(): Promise<void>
}

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

/** Guesses ahead where that pays, and learns from what became of the guesses. */
export interface Speculator {
  /** Sets the drafts of choices that are writing. */
  draft(writing: readonly Occupied[]): Promise<void>
  checked(choice: Choice, drafted: number, confirmed: number): void
}

// How often guesses are right is believed to be this at first, as if that many had been seen.
const FIRST_ACCEPTANCE = 0.7
const FIRST_SEEN = 4
const MAX_SEEN = 64
// A text for which guessing did not pay is tried again, with so many guesses, after so many tokens.
const TRY_AGAIN = 32
const TRIAL = 2

interface Experience {
  seen: number
  right: number
}

/** The newest count most: old ones are forgotten by halves. */
const learn = (experience: Experience, drafted: number, confirmed: number): void => {
  // A guess behind a wrong one says nothing.
  experience.seen += Math.min(drafted, confirmed + 1)
  experience.right += confirmed
  if (experience.seen > MAX_SEEN) {
    experience.seen /= 2
    experience.right /= 2
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A proposer that fails once is closed: replies go on without guesses. */
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
      warn(`speculative decoding has failed and is off from here on: ${messageOf(error)}`)
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
