import type { Proposer } from './speculator.ts'

/** Matches of one token say little, and more than eight are not worth comparing. */
const MIN_LENGTH = 2
const MAX_NGRAM = 8
/** How far back to search, which takes at most some tens of microseconds per token. */
const REACH = 16_384

/**
 * Returns the tokens after the longest earlier occurrence of the text's last tokens; among equally long ones, the latest. This
 * guesses texts that quote, edit, or repeat their prompt without a model (prompt lookup decoding).
 */
export const lookUp = (tokens: readonly number[], max: number): readonly number[] => {
  const end = tokens.length
  let best = -1
  let longest = MIN_LENGTH - 1
  for (let at = end - 2; at >= Math.max(0, end - REACH) && longest < MAX_NGRAM; at--) {
    // `at` may be an earlier occurrence of the last token. Count how many tokens before it match, too.
    let length = 0
    while (length < MAX_NGRAM && length <= at && tokens[at - length] === tokens[end - 1 - length]) length++
    if (length <= longest) continue
    longest = length
    best = at + 1
  }
  if (best < 0 || max <= 0) return []
  const guess: number[] = []
  // A match that reaches the end continues with its own guess: the text is in a loop.
  for (let i = 0; i < max; i++) guess.push(tokens[best + i] ?? guess[best + i - end]!)
  return guess
}

export const createPromptLookup = (): Proposer => ({
  kind: 'prompt-lookup',
  propose: (_slot, tokens, max) => lookUp(tokens, max),
  close: async () => {},
})
