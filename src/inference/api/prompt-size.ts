import type { Engine } from '../engines/engine.ts'

/** No vocabulary comes close to this as an average over a whole prompt. */
const MAX_CHARACTERS_PER_TOKEN = 64

/** True if the length alone shows that a text cannot fit. Counting tokens of megabytes would block the engine for seconds. */
export const isFarTooLong = (characters: number, { model: { contextTokens } }: Engine): boolean =>
  contextTokens > 0 && characters > contextTokens * MAX_CHARACTERS_PER_TOKEN
