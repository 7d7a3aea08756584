// Decoding as in "Robust Speech Recognition via Large-Scale Weak Supervision" (Radford et al. 2022), section 4.5.

/** The tokens that control Whisper, with their numbers from generation_config.json. */
export interface WhisperTokens {
  readonly end: number
  readonly start: number
  /** By language code; empty for English-only models. */
  readonly languages: ReadonlyMap<string, number>
  readonly transcribe: number | null
  readonly noTimestamps: number
  /** The timestamp of second 0; each further one is SECONDS_PER_TIMESTAMP later. */
  readonly firstTimestamp: number
  readonly suppressed: readonly number[]
  readonly suppressedAtBegin: readonly number[]
  /** The latest timestamp that a window may start with, in steps. */
  readonly latestFirstTimestamp: number
}

/** The state of one window. If no language is given, the model detects it in the first step. */
export interface WhisperRun {
  language: string
  /** Becomes false if the model would start with a word: it was not trained on timestamps, and its output is useless. */
  knowsTimestamps: boolean
  /** Changes the scores of the next token so that only allowed tokens can be chosen. */
  limit(sequence: readonly number[], scores: Float32Array): void
}

const only = (scores: Float32Array, token: number): void => {
  scores.fill(Number.NEGATIVE_INFINITY)
  scores[token] = 0
}

const likeliest = (scores: Float32Array, languages: ReadonlyMap<string, number>): string =>
  [...languages].reduce((best, other) => (scores[other[1]]! > scores[best[1]]! ? other : best))[0]

/** The probability weight of all timestamps, and of the most likely word (or, with `all`, of all words). */
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

/** Timestamps come in pairs, never go back, and are chosen if together they are more likely than any word. */
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
    // A segment was just opened and must not be empty; or one was closed, and the next segment or the end follows.
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

/** The number of fixed tokens: the start, language, task, and whether there are timestamps. */
export const preambleLength = (tokens: WhisperTokens, withTimestamps: boolean): number =>
  1 + (tokens.languages.size > 0 ? 1 + (tokens.transcribe === null ? 0 : 1) : 0) + (withTimestamps ? 0 : 1)

export const createRun = (tokens: WhisperTokens, requested: string | null, withTimestamps: boolean): WhisperRun => {
  const { languages, transcribe, noTimestamps } = tokens
  const isMultilingual = languages.size > 0
  const preamble = preambleLength(tokens, withTimestamps)
  const run: WhisperRun = {
    language: requested ?? 'en',
    knowsTimestamps: true,
    limit: (sequence, scores) => {
      const step = sequence.length - 1
      if (step === 0 && isMultilingual && requested === null) run.language = likeliest(scores, languages)
      if (sequence.length < preamble) {
        if (isMultilingual && step === 0) only(scores, languages.get(run.language)!)
        else if (isMultilingual && step === 1 && transcribe !== null) only(scores, transcribe)
        else only(scores, noTimestamps)
        return
      }
      const decoded = sequence.slice(preamble)
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
