/** A number in [0, 1), uniformly distributed. */
export type Random = () => number

/** `count` whole numbers drawn independently and uniformly from 1..max, duplicates removed. */
export const drawOrdinals = (max: number, count: number, random: Random): number[] => {
  const drawn = new Set<number>()
  for (let draw = 0; draw < count; draw++) drawn.add(1 + Math.floor(random() * max))
  return [...drawn]
}

/** `count` items drawn uniformly without replacement (Fisher-Yates, stopped early); all of them when fewer. */
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
