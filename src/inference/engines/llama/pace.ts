/** How much of the prompts goes into a batch beside streams that wait for their next token. */
export interface Pace {
  /** The more of them wait beside the fewer that are writing, the longer those may wait in turn. */
  promptTokens(writing: number, reading: number): number
  /** A batch with that many tokens of prompts took that long. */
  measured(promptTokens: number, milliseconds: number): void
}

// A stream may pause this long for the prompt of another.
const PAUSE_MS = 100
// Prompts as short as this are read whole, and short ones several at a time: one by one, each step computes few streams.
const MIN_TOKENS = 128
const GRAIN = 32
// Batches with fewer tokens say little about the speed of prompts.
const TELLING_TOKENS = 32
const NEW_SHARE = 0.3

export const createPace = (batchTokens: number): Pace => {
  let perToken: number | null = null
  return {
    promptTokens: (writing, reading) => {
      if (perToken === null) return Math.min(batchTokens, MIN_TOKENS)
      const pause = PAUSE_MS * Math.max(1, reading / writing)
      const tokens = Math.floor(pause / perToken / GRAIN) * GRAIN
      return Math.min(batchTokens, Math.max(MIN_TOKENS, tokens))
    },
    measured: (promptTokens, milliseconds) => {
      if (promptTokens < TELLING_TOKENS) return
      const now = milliseconds / promptTokens
      perToken = perToken === null ? now : perToken * (1 - NEW_SHARE) + now * NEW_SHARE
    },
  }
}
