/** How many are read or written at the same time, because small files wait for the disk or the network. */
const AT_ONCE = 8

/** Runs `work` for each item, a few at a time. Waits for all that have started, even if one fails. */
export const inParallel = async <T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  try {
    for await (const item of items) {
      const one = work(item).finally(() => running.delete(one))
      running.add(one)
      one.catch(() => undefined)
      if (running.size >= AT_ONCE) await Promise.race(running)
    }
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
  }
}
