import { freemem, totalmem } from 'node:os'
import { InferenceError } from '../../errors.ts'
import type { Settings } from './settings.ts'

const MIN_CONTEXT = 256
const USUAL_CONTEXT = 4096

/** More slots than four are made where they take no more: memory is made ready at the start, and few servers need them. */
const SPARE_BYTES = 256 * 2 ** 20
const [MANY_SLOTS, USUAL_SLOTS] = [8, 4]

interface ModelSizes {
  readonly trainContextTokens: number
  readonly cacheBytesPerToken: number
}

/**
 * How many tokens each slot holds, how many slots there are, and how many of them have memory at the start. What was asked for
 * is kept; what was not is as large as half of the memory that is free allows.
 * @throws InferenceError out_of_memory for what this machine cannot hold
 */
export const planMemory = (
  { contextTokens, slots: requestedSlots }: Pick<Settings, 'contextTokens' | 'slots'>,
  { trainContextTokens, cacheBytesPerToken }: ModelSizes,
  firstBytes: number,
  memory: { readonly free: number; readonly total: number } = { free: freemem(), total: totalmem() },
): { readonly contextTokens: number; readonly slots: number; readonly firstSlots: number } => {
  const usualTokens = contextTokens ?? Math.min(trainContextTokens, USUAL_CONTEXT)
  const fits = usualTokens * MANY_SLOTS * cacheBytesPerToken <= SPARE_BYTES
  const slots = requestedSlots ?? (fits ? MANY_SLOTS : USUAL_SLOTS)
  const bytes = (tokens: number): number => tokens * slots * cacheBytesPerToken
  if (contextTokens !== null) {
    if (bytes(contextTokens) <= memory.total) return { contextTokens, slots, firstSlots: slots }
    const gigabytes = (value: number): string => `${(value / 2 ** 30).toFixed(1)} GB`
    throw new InferenceError(
      'out_of_memory',
      `${slots} slots of ${contextTokens} tokens take ${gigabytes(bytes(contextTokens))}, but only ${gigabytes(memory.total)} is available. Use fewer slots or a shorter context.`,
    )
  }
  let requested = usualTokens
  while (requested > MIN_CONTEXT && bytes(requested) > memory.free / 2) requested = Math.ceil(requested / 2)
  const firstSlots = requestedSlots ?? Math.max(1, Math.min(slots, Math.floor((firstBytes * slots) / bytes(requested))))
  return { contextTokens: requested, slots, firstSlots }
}
