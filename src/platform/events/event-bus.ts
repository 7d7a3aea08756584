import { onCommit } from '../db/transactions.ts'

type InTransaction<Tx, Event> = (tx: Tx, event: Event) => Promise<void>
type AfterCommit<Event> = (event: Event) => Promise<unknown> | unknown

/**
 * Notifies other modules of events. Handlers are called in the order of registration. `Events` maps each type to its payload.
 */
export interface EventBus<Tx, Events> {
  /** Runs in the publishing transaction: SQL only, since it must not wait for computations. Throwing rolls it back. */
  inTransaction<Type extends keyof Events>(type: Type, handler: InTransaction<Tx, Events[Type]>): void
  /** Runs once the publishing transaction has committed; its caller waits for the handler. Errors are logged. */
  afterCommit<Type extends keyof Events>(type: Type, handler: AfterCommit<Events[Type]>): void
  /** Inside a transaction: runs the in-transaction handlers now, and the others after the commit. */
  publish<Type extends keyof Events>(tx: Tx, type: Type, event: Events[Type]): Promise<void>
  /** Outside a transaction, for changes already committed: runs the after-commit handlers. */
  announce<Type extends keyof Events>(type: Type, event: Events[Type]): Promise<void>
  /** Waits until no handler is running after a commit: some still do when the response has been sent. */
  settled(): Promise<void>
}

export const createEventBus = <Tx, Events extends object>(log: {
  error(fields: object, message: string): void
}): EventBus<Tx, Events> => {
  const inTransaction = new Map<keyof Events, InTransaction<Tx, never>[]>()
  const afterCommit = new Map<keyof Events, AfterCommit<never>[]>()
  const add = <Handler>(handlers: Map<keyof Events, Handler[]>, type: keyof Events, handler: Handler): void => {
    handlers.set(type, [...(handlers.get(type) ?? []), handler])
  }
  const running = new Set<Promise<void>>()
  const runHandlers: EventBus<Tx, Events>['announce'] = async (type, event) => {
    for (const handler of afterCommit.get(type) ?? []) {
      try {
        await handler(event as never)
      } catch (error) {
        log.error({ event: type, err: error }, 'an event handler failed')
      }
    }
  }
  const announce: EventBus<Tx, Events>['announce'] = (type, event) => {
    const run = runHandlers(type, event).finally(() => running.delete(run))
    running.add(run)
    return run
  }
  return {
    inTransaction: (type, handler) => add(inTransaction, type, handler),
    afterCommit: (type, handler) => add(afterCommit, type, handler),
    announce,
    async publish(tx, type, event) {
      for (const handler of inTransaction.get(type) ?? []) await handler(tx, event as never)
      if (afterCommit.has(type)) onCommit(() => announce(type, event))
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
