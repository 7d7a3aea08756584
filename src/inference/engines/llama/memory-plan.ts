import { freemem, totalmem } from 'node:os'
import { InferenceError } from '../../errors.ts'
import type { LlamaModel } from './binding/load-model.ts'
import type { Settings } from './settings.ts'

const MIN_CONTEXT = 256
const USUAL_CONTEXT = 4096

/** Eight slots are used only if they take no more than this, because memory is prepared early and few servers need them. */
const SPARE_BYTES = 256 * 2 ** 20
const [MANY_SLOTS, USUAL_SLOTS] = [8, 4]

/**
 * Plans the context per slot, the number of slots, and how many of them have memory at the start. Requested values are kept.
 * Otherwise the context is halved until it takes at most half of the free memory.
 * @throws InferenceError out_of_memory for a requested context that this machine cannot hold
 */
export const planMemory = (
  { contextTokens, slots: requestedSlots }: Pick<Settings, 'contextTokens' | 'slots'>,
  { trainContextTokens, cacheBytesPerToken }: Pick<LlamaModel, 'trainContextTokens' | 'cacheBytesPerToken'>,
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
