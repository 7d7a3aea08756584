import type { SavedState } from './binding/batch-context.ts'

export interface Saved {
  readonly tokens: readonly number[]
  readonly state: SavedState
}

/** States of texts that are in no slot any more, least recently used out first. */
export interface SavedStates {
  readonly bytes: number
  readonly count: number
  readonly budget: number
  clear(): void
  /** Whether `tokens` are the beginning of a text that is kept. */
  covers(tokens: readonly number[]): boolean
  add(saved: Saved): void
  /** The one that shares most with the beginning of `tokens`. */
  closest(tokens: readonly number[]): { readonly saved: Saved; readonly shared: number } | null
  /** Says that it was of use. */
  used(saved: Saved): void
}

/** How many tokens two texts have in common from their beginning, at most `most`. */
export const sharedLength = (a: readonly number[], b: readonly number[], most: number): number => {
  const end = Math.min(a.length, b.length, most)
  let length = 0
  while (length < end && a[length] === b[length]) length += 1
  return length
}

export const createSavedStates = (budget: number): SavedStates => {
  // The least recently used first.
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
    budget,
    clear: () => {
      while (kept.length > 0) drop(0)
    },
    covers: (tokens) => kept.some((saved) => begins(saved.tokens, tokens)),
    add: (saved) => {
      for (let index = kept.length - 1; index >= 0; index--) {
        if (begins(saved.tokens, kept[index]?.tokens ?? [])) drop(index)
      }
      kept.push(saved)
      bytes += saved.state.bytes
      while (bytes > budget && kept.length > 0) drop(0)
    },
    closest: (tokens) => {
      let best: { saved: Saved; shared: number } | null = null
      for (const saved of kept) {
        const shared = sharedLength(saved.tokens, tokens, tokens.length)
        if (shared > (best?.shared ?? 0)) best = { saved, shared }
      }
      return best
    },
    used: (saved) => {
      const index = kept.indexOf(saved)
      if (index >= 0) kept.push(...kept.splice(index, 1))
    },
  }
}
