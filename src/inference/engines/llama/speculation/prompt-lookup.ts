import type { Proposer } from './speculator.ts'

/** Matches of a single token say little; longer ones than this are not worth looking for. */
const MIN_LENGTH = 2
const MAX_NGRAM = 8
/** How far back is looked: at most some tens of microseconds a token. */
const REACH = 16_384

/**
 * The tokens that followed the longest earlier occurrence of the text's last tokens, the latest of equally long ones: texts that
 * quote, edit or repeat what is in their prompt are guessed without any model (prompt lookup decoding).
 */
export const lookUp = (tokens: readonly number[], max: number): readonly number[] => {
  const end = tokens.length
  let best = -1
  let longest = MIN_LENGTH - 1
  for (let at = end - 2; at >= Math.max(0, end - REACH) && longest < MAX_NGRAM; at--) {
    // `at` is where an occurrence of the last token may be; how far do the tokens before it agree, too?
    let length = 0
    while (length < MAX_NGRAM && length <= at && tokens[at - length] === tokens[end - 1 - length]) length++
    if (length <= longest) continue
    longest = length
    best = at + 1
  }
  if (best < 0 || max <= 0) return []
  const guess: number[] = []
  // A match that reaches to the end goes on with what it itself guessed: a loop of the text.
  for (let i = 0; i < max; i++) guess.push(tokens[best + i] ?? guess[best + i - end]!)
  return guess
}

export const createPromptLookup = (): Proposer => ({
  kind: 'prompt-lookup',
  propose: (_slot, tokens, max) => lookUp(tokens, max),
  close: async () => {},
})
