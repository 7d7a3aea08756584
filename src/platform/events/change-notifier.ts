import type { Hints, HintTopic } from '../db/hints.ts'

/** Wakes long polls and other waiters when something in their topic has changed. */
export interface ChangeNotifier<Topic extends string> {
  notify(topic: Topic): void
  /** Call this before reading; `changedSince` then returns at once if something changed after the read. */
  version(): number
  versionOf(topic: Topic): number
  /** The service is stopping: all current and later waiters are released. */
  close(): void
  isClosed(): boolean
  isAwaited(): boolean
  /** Resolves when something has changed since `seen`, after `ms`, or when `gone` aborts, whichever comes first. */
  changedSince(seen: number, ms: number, gone: AbortSignal): Promise<void>
}

export const createChangeNotifier = <Topic extends string>(): ChangeNotifier<Topic> => {
  let version = 0
  const versions = new Map<Topic, number>()
  let closed = false
  const waiters = new Set<() => void>()
  const release = () => {
    for (const wake of [...waiters]) wake()
  }
  return {
    notify(topic) {
      version++
      versions.set(topic, (versions.get(topic) ?? 0) + 1)
      release()
    },
    version: () => version,
    versionOf: (topic) => versions.get(topic) ?? 0,
    close() {
      closed = true
      release()
    },
    isClosed: () => closed,
    isAwaited: () => waiters.size > 0,
    changedSince(seen, ms, gone) {
      if (version !== seen || closed || gone.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          gone.removeEventListener('abort', done)
          waiters.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        gone.addEventListener('abort', done)
        waiters.add(done)
      })
    },
  }
}

/** A notifier whose `shared` topics wake waiters in all processes on the database. */
export const createSharedChanges = <Topic extends string>(
  hints: Pick<Hints, 'send' | 'listen'>,
  shared: readonly (Topic & HintTopic)[],
): ChangeNotifier<Topic> => {
  const changes = createChangeNotifier<Topic>()
  const isShared = (topic: Topic): topic is Topic & HintTopic => shared.some((one) => one === topic)
  for (const topic of shared) hints.listen(topic, () => changes.notify(topic))
  return { ...changes, notify: (topic) => (isShared(topic) ? hints.send(topic) : changes.notify(topic)) }
}
