import { AsyncLocalStorage } from 'node:async_hooks'

// The embedded database has one connection. Whoever holds it in a transaction and asks the pool for another waits for
// himself, for ever; on a server the same mistake hangs once ten requests make it together. So it is refused at once.
const current = new AsyncLocalStorage<{ open: boolean }>()

/** Runs the body of a transaction; until it settles, `refuseInsideTransaction` throws for everything it starts. */
export const insideTransaction = async <T>(work: () => Promise<T>): Promise<T> => {
  // Work that was started inside and outlives the transaction still sees this object, hence a flag and not its presence.
  const scope = { open: true }
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
