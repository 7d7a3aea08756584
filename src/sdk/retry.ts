import { NetworkError, Refusal } from './api-error.ts'

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>

/** The clock, timers, random numbers, and log that the SDK uses; tests replace them. */
export interface Runtime {
  readonly sleep: Sleep
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly log: (message: string) => void
}

export interface RetryPolicy {
  /** How often a call is sent without progress, including the first time. */
  readonly attempts: number
  /** No attempt starts after this much time. */
  readonly totalMs: number
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

export const DEFAULT_POLICY: RetryPolicy = { attempts: 8, totalMs: 120_000, firstWaitMs: 500, longestWaitMs: 20_000 }

/** Responses that may differ next time. */
const TRANSIENT = new Set([429, 500, 502, 503, 504])

/** Waits, or rejects with the signal's reason. */
export const sleep: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })

/** True for transient errors. */
export const isTransient = (error: unknown): boolean =>
  error instanceof NetworkError || (error instanceof Refusal && TRANSIENT.has(error.status))

/** Returns doubling waits whose upper half is random, so that devices disconnected together do not return together. */
export const backOffMs = (failures: number, policy: RetryPolicy, random: () => number): number =>
  Math.min(policy.longestWaitMs, policy.firstWaitMs * 2 ** (failures - 1)) * (0.5 + random() / 2)

/** A Retry-After may be a date, so a clock that is years off could cause a wait of years. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** Says that a failed call is tried again, in place of the advice to do so that some messages end with. */
export const retryNote = (message: string): string => `${message.replace(/ Try again [^.]*\.$/, '')} Trying again`

/** Returns the wait that the service requested plus up to a tenth; otherwise the back-off. */
const waitMs = (error: unknown, failures: number, policy: RetryPolicy, random: () => number): number =>
  error instanceof Refusal && error.retryAfterMs !== null
    ? Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS) * (1 + random() / 10)
    : backOffMs(failures, policy, random)

/**
 * Retries after network errors and 429, 500, 502, 503 and 504, but not after other responses. Gives up with the last error
 * after `attempts` consecutive tries without progress, or if the next try would start after `totalMs`. An attempt calls
 * `progress` if it got further than before. Rejects with the signal's reason when aborted.
 */
export const retrying = async <T>(
  what: string,
  attempt: (progress: () => void) => Promise<T>,
  runtime: Runtime,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<T> => {
  const ends = runtime.now() + policy.totalMs
  let failures = 0
  const progress = (): void => {
    failures = 0
  }
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await attempt(progress)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isTransient(error)) throw error
      failures++
      const wait = waitMs(error, failures, policy, runtime.random)
      if (failures >= policy.attempts || runtime.now() + wait > ends) throw error
      runtime.log(`${what}: ${retryNote((error as Error).message)} in ${(wait / 1000).toFixed(1)} s.`)
      await runtime.sleep(wait, signal)
    }
  }
}
