/**
 * Returns milliseconds for ages that are kept in memory: like the clock, but they continue when it is set back. Where no test
 * stops the clock, use performance.now().
 */
export const steadyClock = (now: () => Date): (() => number) => {
  let last = Number.NEGATIVE_INFINITY
  let lead = 0
  return () => {
    const read = now().getTime() + lead
    if (read < last) lead += last - read
    else last = read
    return last
  }
}
