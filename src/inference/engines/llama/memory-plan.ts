import { freemem } from 'node:os'
import type { Settings } from './settings.ts'

const SHORTEST_CONTEXT = 256
const USUAL_CONTEXT = 4096

interface ModelSizes {
  readonly trainContextTokens: number
  readonly cacheBytesPerToken: number
}

/**
 * How many tokens each slot holds, and how many slots there are. What was asked for is kept; what was not is as large as
 * half of the memory that is free allows.
 */
export const planMemory = (
  { contextTokens, slots }: Pick<Settings, 'contextTokens' | 'slots'>,
  { trainContextTokens, cacheBytesPerToken }: ModelSizes,
  freeBytes: number = freemem(),
): { readonly contextTokens: number; readonly slots: number } => {
  if (contextTokens !== null) return { contextTokens, slots }
  let wanted = Math.min(trainContextTokens, USUAL_CONTEXT)
  while (wanted > SHORTEST_CONTEXT && wanted * slots * cacheBytesPerToken > freeBytes / 2)
    wanted = Math.ceil(wanted / 2)
  return { contextTokens: wanted, slots }
}
