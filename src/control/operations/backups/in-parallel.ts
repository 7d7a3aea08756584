/** Read or written at the same time: small files wait for the disk or the network. */
const AT_ONCE = 8

/** Each item, a few at a time; ends when the last has, also where one fails. */
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
