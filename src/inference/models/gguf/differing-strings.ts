interface StringWatch {
  /** The bytes of the next string: those of `window` from `from` until before `to`. */
  readonly see: (window: Uint8Array, from: number, to: number) => void
  readonly allDiffer: () => boolean
}

/** Of more strings than any vocabulary has, nothing is said: the table would take too much memory. */
const MOST_STRINGS = 1 << 22
/** A longer search for a place is no chance: somebody chose strings with like hashes. */
const LONGEST_SEARCH = 32

/**
 * Sees one string after the other and says whether all differ for certain, by their hashes: without a string of JavaScript for
 * each. A string ends at its first zero, as for llama.cpp; of an empty one nothing is said.
 * @param count how many strings there are at most
 */
export const watchStrings = (count: number): StringWatch => {
  let differ = count <= MOST_STRINGS
  // Open addressing, at most half full: by one hash, with the other in its place.
  const seen = new Int32Array(differ ? 2 ** Math.ceil(Math.log2(count * 2 + 1)) : 0)
  const last = seen.length - 1
  const see = (window: Uint8Array, from: number, to: number): void => {
    if (!differ) return
    let first = 0x811c9dc5
    let second = 0x9747b28c
    let at = from
    for (let byte = 0; at < to && (byte = window[at]!) !== 0; at++) {
      first = Math.imul(first ^ byte, 0x01000193)
      second = Math.imul(second + byte, 0x5bd1e995) ^ (second >>> 15)
    }
    // Zero is a free place.
    second |= 1
    let place = (first ^ (first >>> 16)) & last
    let searched = 0
    for (; seen[place] !== 0 && seen[place] !== second && searched < LONGEST_SEARCH; searched++)
      place = (place + 1) & last
    differ = at > from && seen[place] === 0
    seen[place] = second
  }
  return { see, allDiffer: () => differ }
}
