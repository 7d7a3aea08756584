import type { Engine } from '../engines/engine.ts'

/** On average over a whole prompt no vocabulary comes near it. */
const MAX_CHARACTERS_PER_TOKEN = 64

/** Counting the tokens of megabytes would keep the engine from everybody else for seconds: their length says enough. */
export const isFarTooLong = (characters: number, { model: { contextTokens } }: Engine): boolean =>
  contextTokens > 0 && characters > contextTokens * MAX_CHARACTERS_PER_TOKEN
