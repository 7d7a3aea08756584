/** How much of the prompts goes into a batch beside streams that wait for their next token. */
export interface Pace {
  promptTokens(): number
  /** A batch with that many tokens of prompts took that long. */
  measured(promptTokens: number, milliseconds: number): void
}

// A stream may pause this long for the prompts of others.
const PAUSE_MS = 100
const FEWEST_TOKENS = 32
// Batches with fewer tokens say little about the speed of prompts.
const TELLING_TOKENS = 32
const NEW_SHARE = 0.3

export const createPace = (batchTokens: number): Pace => {
  let perToken: number | null = null
  return {
    promptTokens: () => {
      if (perToken === null) return Math.min(batchTokens, 4 * FEWEST_TOKENS)
      const tokens = Math.floor(PAUSE_MS / perToken / FEWEST_TOKENS) * FEWEST_TOKENS
      return Math.min(batchTokens, Math.max(FEWEST_TOKENS, tokens))
    },
    measured: (promptTokens, milliseconds) => {
      if (promptTokens < TELLING_TOKENS) return
      const now = milliseconds / promptTokens
      perToken = perToken === null ? now : perToken * (1 - NEW_SHARE) + now * NEW_SHARE
    },
  }
}
