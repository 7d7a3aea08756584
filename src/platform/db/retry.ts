import { setTimeout as sleep } from 'node:timers/promises'

/** The SQLSTATE of an error that came from the database, else undefined. */
export const sqlState = (error: unknown): string | undefined => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** 40001 (serialization failure) and 40P01 (deadlock): the same work, done again, is expected to succeed. */
const mayRetry = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '')

/**
 * The database did not judge the statement: the connection broke (no SQLSTATE, or class 08), or the server is stopping,
 * full or failing (classes 53, 57, 58). Asking again for each item would only ask a dead server more often.
 */
export const isOutage = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|53|57|58)/.test(state)
  return (
    error instanceof Error && ('syscall' in error || /^Connection terminated|embedded database/.test(error.message))
  )
}

const ATTEMPTS = 6

/** Runs `work`, and again while it fails with a deadlock or a serialization failure, at most 6 times in all. */
export const retrying = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !mayRetry(error)) throw error
      // Random waits, so that the two sides of a deadlock do not meet again.
      await sleep(Math.random() * 5 * 2 ** attempt)
    }
  }
}
