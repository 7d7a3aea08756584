import { isOutage, observed, refuseInsideTransaction, retrying } from './transactions.ts'

export interface BatcherOptions<In, Out> {
  /**
   * Processes all items in one statement or transaction (all or none) and returns one result per item, in order. Must sort its
   * rows by key: two unsorted batches deadlock.
   */
  readonly run: (items: readonly In[]) => Promise<readonly Out[]>
  readonly maxBatch: number
}

interface Waiting<In, Out> {
  readonly item: In
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit: calls that arrive while a batch is being committed are collected for the next one, which starts as soon as that
 * has ended; each call returns after its commit. There are no timers. One failing item fails alone: a failed batch is halved
 * until the failing items are found.
 */
export const createBatcher = <In, Out>({ run, maxBatch }: BatcherOptions<In, Out>): ((item: In) => Promise<Out>) => {
  let queue: Waiting<In, Out>[] = []
  let running = false

  const attempt = async (batch: readonly Waiting<In, Out>[]): Promise<void> => {
    let results: readonly Out[]
    try {
      // A batch belongs to all its callers, not to the request that happens to start it.
      results = await observed(null, () => retrying(() => run(batch.map(({ item }) => item))))
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      const half = Math.ceil(batch.length / 2)
      await attempt(batch.slice(0, half))
      await attempt(batch.slice(half))
      return
    }
    const wrong = new Error(`A batch of ${batch.length} items returned ${results.length} results.`)
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (results.length === batch.length) resolve(results[index] as Out)
      else reject(wrong)
    }
  }

  const flush = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch)
      queue = queue.slice(maxBatch)
      await attempt(batch)
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      refuseInsideTransaction('Waiting for a batch')
      queue.push({ item, resolve, reject })
      if (running) return
      running = true
      // After this round of I/O events, so that requests that arrive together are written together.
      setImmediate(() => void flush())
    })
}
