/** What may change for those that wait: rounds that devices may take part in, the ends of rounds, and delivery plans. */
export type Topic = 'rounds' | 'endings' | 'plans'

/** Wakes those who wait for something to change in the rounds and delivery plans of this service. */
export const createRoundSignal = () => {
  let version = 0
  const versions: Record<Topic, number> = { rounds: 0, endings: 0, plans: 0 }
  let closed = false
  const waiters = new Set<() => void>()
  return {
    fire(topic: Topic = 'rounds'): void {
      version++
      versions[topic]++
      for (const wake of [...waiters]) wake()
    },

    /** Take it before looking; `changedSince` then returns at once for whatever changed after the look. */
    version: (): number => version,

    versionOf: (topic: Topic): number => versions[topic],

    /** The service is stopping: whoever waits is let go, and nobody waits any more. */
    close(): void {
      closed = true
      for (const wake of [...waiters]) wake()
    },

    isClosed: (): boolean => closed,

    isAwaited: (): boolean => waiters.size > 0,

    /** Resolves when something changed since `seen`, after `ms`, or when `gone` aborts: whichever is first. */
    changedSince(seen: number, ms: number, gone: AbortSignal): Promise<void> {
      if (version !== seen || closed || gone.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          gone.removeEventListener('abort', done)
          waiters.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        gone.addEventListener('abort', done)
        waiters.add(done)
      })
    },
  }
}

export type RoundSignal = ReturnType<typeof createRoundSignal>
