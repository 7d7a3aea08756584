// Decoding as in "Robust Speech Recognition via Large-Scale Weak Supervision" (Radford et al. 2022), section 4.5.

/** The tokens that steer Whisper, as generation_config.json numbers them. */
export interface WhisperTokens {
  readonly end: number
  readonly start: number
  /** By language code; empty for models of English alone. */
  readonly languages: ReadonlyMap<string, number>
  readonly transcribe: number | null
  readonly noTimestamps: number
  /** The first timestamp, of second 0; each further one is SECONDS_PER_TIMESTAMP later. */
  readonly firstTimestamp: number
  readonly suppressed: readonly number[]
  readonly suppressedAtBegin: readonly number[]
  /** The latest timestamp that a window may begin with, as a count of steps. */
  readonly latestFirstTimestamp: number
}

/** What becomes of one window. The model itself finds the language, in the first step, where it is not given. */
export interface WhisperRun {
  language: string
  /** False once the model wanted to begin with a word: it was not taught timestamps, and what it says with them is of no use. */
  knowsTimestamps: boolean
  /** Changes the scores of the next token so that only what is allowed can be chosen. */
  limit(sequence: readonly number[], scores: Float32Array): void
}

const only = (scores: Float32Array, token: number): void => {
  scores.fill(Number.NEGATIVE_INFINITY)
  scores[token] = 0
}

const likeliest = (scores: Float32Array, languages: ReadonlyMap<string, number>): string =>
  [...languages].reduce((best, other) => (scores[other[1]]! > scores[best[1]]! ? other : best))[0]

/** Of timestamps together, and of the likeliest word (or, with `all`, of all words). */
const weigh = (scores: Float32Array, firstTimestamp: number, all: boolean): { times: number; words: number } => {
  const highest = scores.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY)
  let times = 0
  let words = 0
  for (const [token, score] of scores.entries()) {
    const weight = Math.exp(score - highest)
    if (token >= firstTimestamp) times += weight
    else words = all ? words + weight : Math.max(words, weight)
  }
  return { times, words }
}

/** Timestamps come in pairs, never go back, and are taken when together they are likelier than any word. */
const limitTimestamps = (tokens: WhisperTokens, decoded: readonly number[], scores: Float32Array): void => {
  const { firstTimestamp, end } = tokens
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= firstTimestamp
  const forbid = (from: number, to: number): void => void scores.fill(Number.NEGATIVE_INFINITY, from, to)
  if (decoded.length === 0) {
    forbid(0, firstTimestamp)
    forbid(firstTimestamp + tokens.latestFirstTimestamp + 1, scores.length)
    return
  }
  if (isTime(decoded.at(-1))) {
    // A segment has been opened, and is not empty; or one was closed, and the next is opened or all is over.
    if (decoded.length === 1 || isTime(decoded.at(-2))) forbid(firstTimestamp, scores.length)
    else forbid(0, end)
  }
  const latest = decoded.filter(isTime).at(-1)
  if (latest !== undefined) {
    const isClosing = isTime(decoded.at(-1)) && !isTime(decoded.at(-2))
    forbid(firstTimestamp, isClosing ? latest : latest + 1)
  }
  const { times, words } = weigh(scores, firstTimestamp, false)
  if (times > words) forbid(0, firstTimestamp)
}

export const createRun = (tokens: WhisperTokens, requested: string | null, withTimestamps: boolean): WhisperRun => {
  const { languages, transcribe, noTimestamps } = tokens
  const isMultilingual = languages.size > 0
  /** Tokens that are set after the start: language, task, and whether there are timestamps. */
  const preamble = (isMultilingual ? 1 : 0) + (transcribe !== null && isMultilingual ? 1 : 0) + (withTimestamps ? 0 : 1)
  const run: WhisperRun = {
    language: requested ?? 'en',
    knowsTimestamps: true,
    limit: (sequence, scores) => {
      const step = sequence.length - 1
      if (step === 0 && isMultilingual && requested === null) run.language = likeliest(scores, languages)
      if (step < preamble) {
        if (isMultilingual && step === 0) only(scores, languages.get(run.language)!)
        else if (isMultilingual && step === 1 && transcribe !== null) only(scores, transcribe)
        else only(scores, noTimestamps)
        return
      }
      const decoded = sequence.slice(1 + preamble)
      for (const token of tokens.suppressed) scores[token] = Number.NEGATIVE_INFINITY
      if (decoded.length === (withTimestamps ? 1 : 0)) {
        for (const token of tokens.suppressedAtBegin) scores[token] = Number.NEGATIVE_INFINITY
      }
      scores[noTimestamps] = Number.NEGATIVE_INFINITY
      if (withTimestamps && decoded.length === 0) {
        const { times, words } = weigh(scores, tokens.firstTimestamp, true)
        run.knowsTimestamps = times > words
      }
      if (!run.knowsTimestamps) only(scores, tokens.end)
      else if (withTimestamps) limitTimestamps(tokens, decoded, scores)
      else scores.fill(Number.NEGATIVE_INFINITY, tokens.firstTimestamp)
    },
  }
  return run
}

export const preambleLength = (tokens: WhisperTokens, withTimestamps: boolean): number =>
  1 + (tokens.languages.size > 0 ? 1 + (tokens.transcribe === null ? 0 : 1) : 0) + (withTimestamps ? 0 : 1)
