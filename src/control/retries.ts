import { LRUCache } from 'lru-cache'
import { steadyClock } from '../platform/steady-clock.ts'
import type { Context } from './context.ts'

const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 60_000
const REMEMBERED = 10_000

/**
 * Does the periodic work of many things, such as plans, each of which may keep failing. One that fails is logged, and left out
 * until a wait is over that doubles with each failure, from a second to a minute; the others are not delayed. Each process
 * waits on its own.
 */
export const createRetries = ({ now }: Pick<Context, 'now'>, log: Pick<Context['log'], 'error'>, message: string) => {
  const elapsedMs = steadyClock(now)
  // Not `max`, which allocates space for all entries at once.
  const failing = new LRUCache<string, { readonly failures: number; readonly retryAt: number }>({
    maxSize: REMEMBERED,
    sizeCalculation: () => 1,
  })

  /** Returns true if the work succeeded; false if it failed, or waits after earlier failures. `fields` are logged. */
  return async (id: string, fields: object, work: () => Promise<unknown>): Promise<boolean> => {
    const { failures: earlier, retryAt } = failing.get(id) ?? { failures: 0, retryAt: 0 }
    if (earlier > 0 && elapsedMs() < retryAt) return false
    try {
      await work()
      failing.delete(id)
      return true
    } catch (error) {
      const failures = earlier + 1
      const waitMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** earlier)
      failing.set(id, { failures, retryAt: elapsedMs() + waitMs })
      log.error({ ...fields, err: error, failures, retry_in_seconds: waitMs / 1000 }, message)
      return false
    }
  }
}
