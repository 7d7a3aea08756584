import { AsyncLocalStorage } from 'node:async_hooks'

// The embedded database has one connection. Whoever holds it in a transaction and asks the pool for another waits for
// himself, for ever; on a server the same mistake hangs once ten requests make it together. So it is refused at once.
const current = new AsyncLocalStorage<{ open: boolean; readonly afterwards: AfterCommit[] }>()

type AfterCommit = () => Promise<void>

/**
 * Runs the body of a transaction; until it settles, `refuseInsideTransaction` throws for everything it starts. What the body
 * hands to `onCommit` is added to `afterwards`.
 */
export const insideTransaction = async <T>(work: () => Promise<T>, afterwards: AfterCommit[]): Promise<T> => {
  // Work that was started inside and outlives the transaction still sees this object, hence a flag and not its presence.
  const scope = { open: true, afterwards }
  try {
    return await current.run(scope, work)
  } finally {
    scope.open = false
  }
}

/** Throws when called from within a transaction's body. `what` completes "… inside a transaction". */
export const refuseInsideTransaction = (what: string): void => {
  if (current.getStore()?.open) {
    throw new Error(`${what} inside a transaction would wait for itself: use the executor the transaction was given.`)
  }
}

/** Inside a transaction's body: has `work` run once the transaction has committed, before its caller goes on. */
export const onCommit = (work: AfterCommit): void => {
  const scope = current.getStore()
  if (scope?.open !== true) throw new Error('onCommit was called outside a transaction.')
  scope.afterwards.push(work)
}
