/** Orders two wires: afterwards `low` holds the smaller value and `high` the larger. */
export interface Comparator {
  readonly low: number
  readonly high: number
  /** Whether what lies on each wire afterwards is used. */
  readonly lowUsed: boolean
  readonly highUsed: boolean
}

/** Batcher's merge exchange for any number of wires (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M). */
function* mergeExchange(wires: number): Generator<readonly [number, number]> {
  const top = 2 ** Math.max(Math.ceil(Math.log2(wires)) - 1, 0)
  for (let p = top; wires > 1 && p >= 1; p /= 2) {
    for (let q = top, r = 0, d = p; ; d = q - p, q /= 2, r = p) {
      for (let i = 0; i < wires - d; i++) if ((i & p) === r) yield [i, i + d]
      if (q === p) break
    }
  }
}

/**
 * A sorting network over `wires` without what does not lead to the ranks [from, to): after it, wire k holds the value of
 * rank k (0 is the smallest) for each k in that range. About half a median's comparators, and one side of many others,
 * go away.
 */
export const rankNetwork = (wires: number, from: number, to: number): readonly Comparator[] => {
  const used = Array.from({ length: wires }, (_, wire) => wire >= from && wire < to)
  const kept: Comparator[] = []
  for (const [low, high] of [...mergeExchange(wires)].reverse()) {
    const [lowUsed, highUsed] = [used[low]!, used[high]!]
    if (!lowUsed && !highUsed) continue
    used[low] = true
    used[high] = true
    kept.push({ low, high, lowUsed, highUsed })
  }
  return kept.reverse()
}
