import { freemem, totalmem } from 'node:os'
import { InferenceError } from '../../errors.ts'
import type { Settings } from './settings.ts'

const MIN_CONTEXT = 256
const USUAL_CONTEXT = 4096

interface ModelSizes {
  readonly trainContextTokens: number
  readonly cacheBytesPerToken: number
}

/**
 * How many tokens each slot holds, and how many slots there are. What was asked for is kept; what was not is as large as
 * half of the memory that is free allows.
 * @throws InferenceError out_of_memory for what this machine cannot hold
 */
export const planMemory = (
  { contextTokens, slots }: Pick<Settings, 'contextTokens' | 'slots'>,
  { trainContextTokens, cacheBytesPerToken }: ModelSizes,
  memory: { readonly free: number; readonly total: number } = { free: freemem(), total: totalmem() },
): { readonly contextTokens: number; readonly slots: number } => {
  const bytes = (tokens: number): number => tokens * slots * cacheBytesPerToken
  if (contextTokens !== null) {
    if (bytes(contextTokens) <= memory.total) return { contextTokens, slots }
    const gigabytes = (value: number): string => `${(value / 2 ** 30).toFixed(1)} GB`
    throw new InferenceError(
      'out_of_memory',
      `${slots} slots of ${contextTokens} tokens take ${gigabytes(bytes(contextTokens))}, and there are ${gigabytes(memory.total)}. Use fewer slots or a shorter context.`,
    )
  }
  let requested = Math.min(trainContextTokens, USUAL_CONTEXT)
  while (requested > MIN_CONTEXT && bytes(requested) > memory.free / 2) requested = Math.ceil(requested / 2)
  return { contextTokens: requested, slots }
}
