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
  /** How often a call is sent without any progress, the first time included. */
  readonly attempts: number
  /** No try begins after this much time. */
  readonly totalMs: number
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

export const DEFAULT_POLICY: RetryPolicy = { attempts: 8, totalMs: 120_000, firstWaitMs: 500, longestWaitMs: 20_000 }

/** Answers that may be different next time. */
const PASSING = new Set([429, 500, 502, 503, 504])

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

/** True for errors that a later try may not meet again. */
export const isPassing = (error: unknown): boolean =>
  error instanceof NetworkError || (error instanceof Refusal && PASSING.has(error.status))

/** Doubling waits with the upper half left to chance, so that devices cut off together do not come back together. */
export const backOffMs = (failures: number, policy: RetryPolicy, random: () => number): number =>
  Math.min(policy.longestWaitMs, policy.firstWaitMs * 2 ** (failures - 1)) * (0.5 + random() / 2)

/** A Retry-After may be a date, and a clock that is years off would make a wait of years of it. */
const MAX_ASKED_WAIT_MS = 3_600_000

/** As long as the service asked for, plus up to a tenth; else the back-off. */
const waitMs = (error: unknown, failures: number, policy: RetryPolicy, random: () => number): number =>
  error instanceof Refusal && error.retryAfterMs !== null
    ? Math.min(error.retryAfterMs, MAX_ASKED_WAIT_MS) * (1 + random() / 10)
    : backOffMs(failures, policy, random)

/**
 * Tries until it works: again after network errors and 429, 500, 502, 503 and 504, but not after any other answer. Gives up
 * with the last error after `attempts` tries in a row without progress, or when the next try would begin after `totalMs`.
 * An attempt calls `progress` when it got further than before. Rejects with the signal's reason when aborted.
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
      if (!isPassing(error)) throw error
      failures++
      const wait = waitMs(error, failures, policy, runtime.random)
      if (failures >= policy.attempts || runtime.now() + wait > ends) throw error
      runtime.log(`${what}: ${(error as Error).message} Trying again in ${(wait / 1000).toFixed(1)} s.`)
      await runtime.sleep(wait, signal)
    }
  }
}
