import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../client/client.ts'
import { retryNote } from '../sdk/retry.ts'
import { UnreachableError } from './connection.ts'
import { Failure } from './failure.ts'
import type { Session } from './session.ts'

const MAX_FAILING_MS = 90_000
const RETRY_MS = 1000
const MAX_RETRY_MS = 5000

/** Waits until the next poll. @throws the reason of a Ctrl-C, after printing what continues without the command */
export const waitForNextPoll = async (
  { io, out }: Session,
  afterMs: number,
  continuationNote: string,
): Promise<void> => {
  await sleep(afterMs, undefined, { signal: io.signal }).catch(() => {
    if (io.signal.aborted) out.note(continuationNote)
    io.signal.throwIfAborted()
  })
}

/** True if the service is unreachable, restarting, or busy, which may be temporary. */
const isTransient = (error: unknown): error is Error => {
  const cause = error instanceof Failure ? error.cause : error
  return (
    error instanceof UnreachableError || (cause instanceof ApiError && (cause.status === 429 || cause.status > 500))
  )
}

/**
 * Repeats a poll for about 90 s while the service is unreachable or busy: what the command watches continues without it.
 * @throws Failure that says so, if the service stays unreachable; any other error of the poll
 */
export const withRetries = async <Value>(
  session: Session,
  poll: () => Promise<Value>,
  continuationNote: string,
): Promise<Value> => {
  const began = performance.now()
  for (let failed = 1; ; failed++) {
    try {
      return await poll()
    } catch (error) {
      if (!isTransient(error)) throw error
      // Counts time instead of polls: each of them may take half a minute.
      if (performance.now() - began >= MAX_FAILING_MS)
        throw new Failure(error.message, { advice: continuationNote, cause: error })
      if (failed === 1) session.out.note(`${retryNote(error.message)}.`)
      await waitForNextPoll(session, Math.min(RETRY_MS * failed, MAX_RETRY_MS), continuationNote)
    }
  }
}
