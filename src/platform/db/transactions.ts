import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Returns the SQLSTATE of a database error; undefined for other errors. */
export const sqlState = (error: unknown): string | undefined => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** 40001 (serialization failure) and 40P01 (deadlock): repeating the same work is expected to succeed. */
const mayRetry = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '')

/**
 * True if the failure was not caused by the statement: the connection broke (no SQLSTATE, or class 08), or the server is
 * stopping, full or failing (classes 53, 57, 58). Retrying each item would only add load.
 */
export const isOutage = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|53|57|58)/.test(state)
  return (
    error instanceof Error &&
    ('syscall' in error ||
      /^Connection terminated|^timeout exceeded when trying to connect|embedded database/.test(error.message))
  )
}

const ATTEMPTS = 6

/** Runs `work`; repeats it after a deadlock or a serialization failure, up to 6 attempts in all. */
export const retrying = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !mayRetry(error)) throw error
      // Random delays, so that the two sides of a deadlock do not collide again.
      await sleep(Math.random() * 5 * 2 ** attempt)
    }
  }
}

// The embedded database has one connection. Code that holds it in a transaction and requests another from the pool deadlocks;
// on a server the same mistake hangs once ten requests make it together. So it is rejected at once.
const current = new AsyncLocalStorage<Scope>()

type Work = () => Promise<void>

interface Scope {
  open: boolean
  readonly beforehand: Work[]
  readonly afterwards: Work[]
}

/** Observes the transactions of one request, for the audit log. */
export interface TransactionObserver<Tx> {
  /** A transaction begins, possibly again after a deadlock. */
  begun(): void
  /** Runs the last statements, after all others. Throwing rolls the transaction back. */
  ending(tx: Tx): Promise<void>
  committed(): void
}

const witnesses = new AsyncLocalStorage<TransactionObserver<never> | null>()

/** Number of running calls that use one of the storages. */
let followed = 0

/**
 * Runs `work` with this value in `storage`. From the first such run on, Node 20 tracks every promise in the process, which
 * costs a fifteenth of a heartbeat's time, so the storages are disabled while no such work is running.
 */
const follow = async <Value, T>(
  storage: AsyncLocalStorage<Value>,
  value: Value,
  work: () => Promise<T>,
): Promise<T> => {
  followed++
  try {
    return await storage.run(value, work)
  } finally {
    followed--
    if (followed === 0) for (const each of [current, witnesses]) each.disable()
  }
}

/** Calls `work`; until it settles, `witness` (null: none) observes all transactions that it starts. */
export const observed = <Tx, T>(witness: TransactionObserver<Tx> | null, work: () => Promise<T>): Promise<T> =>
  witness === null && currentObserver() === null ? work() : follow(witnesses, witness, work)

/** Returns the witness of transactions that are started here. */
export const currentObserver = <Tx>(): TransactionObserver<Tx> | null =>
  (witnesses.getStore() ?? null) as TransactionObserver<Tx> | null

/**
 * Runs the body of a transaction, then the work passed to `beforeCommit`; until that settles, `refuseInsideTransaction` throws
 * for everything it starts. Work passed to `onCommit` is added to `afterwards`.
 */
export const insideTransaction = <T>(work: () => Promise<T>, afterwards: Work[]): Promise<T> => {
  // A flag, because work that was started inside and outlives the transaction still sees this object.
  const scope: Scope = { open: true, beforehand: [], afterwards }
  return follow(current, scope, async () => {
    try {
      const result = await work()
      for (const each of scope.beforehand) await each()
      return result
    } finally {
      scope.open = false
    }
  })
}

/** Throws if called inside a transaction's body. `what` completes "… inside a transaction". */
export const refuseInsideTransaction = (what: string): void => {
  if (current.getStore()?.open) {
    throw new Error(`${what} inside a transaction would wait for itself: use the executor the transaction was given.`)
  }
}

const openScope = (caller: string): Scope => {
  const scope = current.getStore()
  if (scope?.open !== true) throw new Error(`${caller} was called outside a transaction.`)
  return scope
}

/** Inside a transaction's body: runs `work` as the transaction's last step. Throwing rolls it back. */
export const beforeCommit = (work: Work): void => void openScope('beforeCommit').beforehand.push(work)

/** Inside a transaction's body: runs `work` once the transaction has committed, before its caller continues. */
export const onCommit = (work: Work): void => void openScope('onCommit').afterwards.push(work)
