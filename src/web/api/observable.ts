import { useSyncExternalStore } from 'react'

/** A value outside the component tree that components and functions can subscribe to. */
export const observable = <Value>(initial: Value) => {
  let value = initial
  const listeners = new Set<() => void>()
  const get = (): Value => value
  const set = (next: Value): void => {
    if (Object.is(next, value)) return
    value = next
    for (const listener of [...listeners]) listener()
  }
  const follow = (listener: () => void): (() => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return { get, set, follow, use: (): Value => useSyncExternalStore(follow, get) }
}
