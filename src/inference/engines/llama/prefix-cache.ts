import type { BatchContext, SavedState } from './binding/batch-context.ts'

interface Saved {
  readonly tokens: readonly number[]
  readonly state: SavedState
}

/** Returns the length of the common prefix of two texts, up to `most`. */
export const sharedLength = (a: readonly number[], b: readonly number[], most: number): number => {
  const end = Math.min(a.length, b.length, most)
  let length = 0
  while (length < end && a[length] === b[length]) length += 1
  return length
}

/** States of texts that are no longer in a slot. The least recently used is removed first. */
const createSavedStates = (budget: number) => {
  // Least recently used first.
  const kept: Saved[] = []
  let bytes = 0
  const drop = (index: number): void => {
    for (const { state } of kept.splice(index, 1)) {
      bytes -= state.bytes
      state.forget()
    }
  }
  const begins = (text: readonly number[], beginning: readonly number[]): boolean =>
    sharedLength(text, beginning, beginning.length) === beginning.length
  return {
    get bytes() {
      return bytes
    },
    get count() {
      return kept.length
    },
    clear: (): void => {
      while (kept.length > 0) drop(0)
    },
    /** True if a kept text begins with `tokens`. */
    covers: (tokens: readonly number[]): boolean => kept.some((saved) => begins(saved.tokens, tokens)),
    add: (saved: Saved): void => {
      for (let index = kept.length - 1; index >= 0; index--) {
        if (begins(saved.tokens, kept[index]?.tokens ?? [])) drop(index)
      }
      kept.push(saved)
      bytes += saved.state.bytes
      while (bytes > budget && kept.length > 0) drop(0)
    },
    /** Returns the state that shares the longest prefix with `tokens`. */
    closest: (tokens: readonly number[]): { readonly saved: Saved; readonly shared: number } | null => {
      let best: { saved: Saved; shared: number } | null = null
      for (const saved of kept) {
        const shared = sharedLength(saved.tokens, tokens, tokens.length)
        if (shared > (best?.shared ?? 0)) best = { saved, shared }
      }
      return best
    },
    /** Marks a state as recently used. */
    used: (saved: Saved): void => {
      const index = kept.indexOf(saved)
      if (index >= 0) kept.push(...kept.splice(index, 1))
    },
  }
}

/**
 * Keys and values of prompt prefixes, shared across requests and users. They stay in the slot that computed them until another
 * text takes it, and are then saved as states.
 */
export interface PrefixCache {
  readonly enabled: boolean
  /** Returns how many tokens of `prompt` are available from the start without computing. */
  available(prompt: readonly number[]): number
  /** Makes `slot` hold the longest available prefix of `prompt` and nothing else; returns its length. */
  restore(slot: number, prompt: readonly number[]): Promise<number>
  /** Records that `slot` now holds the first `length` of `tokens`. */
  noteContent(slot: number, tokens: readonly number[], length: number): void
  /** Call after each batch, because copies between slots are made with the next batch. */
  computed(): void
  clear(): void
  figures(): Readonly<Record<string, number>>
}

export interface PrefixCacheParts {
  readonly context: BatchContext
  readonly slots: number
  /** The budget for saved states; 0 disables the cache. */
  readonly budgetBytes: number
  readonly bytesPerToken: number
  /** True if states can be saved. */
  readonly plainCache: boolean
}

// Fewer tokens than this are computed as fast as they are copied.
const WORTH_FETCHING = 16
// A state is saved if at least this many tokens, and this share of them, would be lost. Saving 60 tokens takes as long as
// computing one.
const WORTH_SAVING = 64
const SHARE_WORTH_SAVING = 1 / 16

interface Content {
  readonly tokens: readonly number[]
  readonly length: number
}

const NOTHING: Content = { tokens: [], length: 0 }

export const createPrefixCache = ({
  context,
  slots,
  budgetBytes,
  bytesPerToken,
  plainCache,
}: PrefixCacheParts): PrefixCache => {
  const contents: Content[] = Array.from({ length: slots }, () => NOTHING)
  const saved = createSavedStates(budgetBytes)
  // Slots with a pending copy, which is made with the next batch. Until then, their keys and values must not be read or
  // replaced.
  const copying = new Set<number>()
  const counts = { prefix_cache_hits_total: 0, prefix_cache_tokens_total: 0 }

  // The last token is always computed, because it predicts the next one.
  const shared = ({ tokens, length }: Content, prompt: readonly number[]): number =>
    sharedLength(tokens, prompt, Math.min(length, prompt.length - 1))

  const closestSlot = (prompt: readonly number[], except: number): { slot: number; length: number } => {
    const best = { slot: except, length: 0 }
    for (const [slot, content] of contents.entries()) {
      const length = slot === except ? 0 : shared(content, prompt)
      if (length > best.length) Object.assign(best, { slot, length })
    }
    return best
  }

  const closestSaved = (prompt: readonly number[]) => {
    const closest = saved.closest(prompt)
    return closest === null ? null : { saved: closest.saved, length: Math.min(closest.shared, prompt.length - 1) }
  }

  /** Saves what a slot would lose by keeping only its first `kept` tokens. */
  const preserve = async (slot: number, kept: number): Promise<void> => {
    const { tokens, length } = contents[slot] ?? NOTHING
    const lost = length - kept
    if (!plainCache || copying.has(slot) || lost < WORTH_SAVING || lost < length * SHARE_WORTH_SAVING) return
    if (length * bytesPerToken > budgetBytes) return
    const text = tokens.slice(0, length)
    const elsewhere = contents.some(
      (other, index) => index !== slot && other.length >= length && sharedLength(other.tokens, text, length) === length,
    )
    if (!elsewhere && !saved.covers(text)) saved.add({ tokens: text, state: await context.save(slot) })
  }

  const fetch = async (slot: number, prompt: readonly number[]): Promise<number> => {
    const own = shared(contents[slot] ?? NOTHING, prompt)
    await preserve(slot, own)
    const other = closestSlot(prompt, slot)
    const state = copying.has(slot) ? null : closestSaved(prompt)
    const best = Math.max(other.length, state?.length ?? 0)
    if (best < own + WORTH_FETCHING) return context.truncate(slot, own) ? own : 0
    if (state !== null && state.length === best) {
      saved.used(state.saved)
      return (await context.restore(state.saved.state, best, slot)) ? best : 0
    }
    await context.copy(other.slot, slot)
    copying.add(slot).add(other.slot)
    return context.truncate(slot, best) ? best : 0
  }

  const enabled = budgetBytes > 0
  const noteContent: PrefixCache['noteContent'] = (slot, tokens, length) => {
    if (enabled) contents[slot] = { tokens, length }
  }

  return {
    enabled,
    noteContent,
    available: (prompt) => Math.max(closestSlot(prompt, -1).length, closestSaved(prompt)?.length ?? 0),
    restore: async (slot, prompt) => {
      const length = await fetch(slot, prompt)
      noteContent(slot, prompt, length)
      if (length > 0) counts.prefix_cache_hits_total += 1
      counts.prefix_cache_tokens_total += length
      return length
    },
    computed: () => copying.clear(),
    clear: () => {
      contents.fill(NOTHING)
      saved.clear()
      copying.clear()
    },
    figures: () => ({ ...counts, prefix_cache_bytes: saved.bytes, prefix_cache_states: saved.count }),
  }
}
