/** A number in [0, 1), uniformly distributed. */
export type Random = () => number

/** Draws `count` integers independently and uniformly from 1..max, and removes duplicates. */
export const drawOrdinals = (max: number, count: number, random: Random): number[] => {
  const drawn = new Set<number>()
  for (let draw = 0; draw < count; draw++) drawn.add(1 + Math.floor(random() * max))
  return [...drawn]
}

/** Draws `count` items uniformly without replacement (Fisher-Yates, stopped early), or all if there are fewer. */
export const sample = <Item>(items: readonly Item[], count: number, random: Random): Item[] => {
  const pool = [...items]
  const taken = Math.min(count, pool.length)
  for (let index = 0; index < taken; index++) {
    const other = index + Math.floor(random() * (pool.length - index))
    const kept = pool[index]!
    pool[index] = pool[other]!
    pool[other] = kept
  }
  return pool.slice(0, taken)
}
