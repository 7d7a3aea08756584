import { useRef, useState } from 'react'

export const errorOf = (failure: unknown): Error => (failure instanceof Error ? failure : new Error(String(failure)))

/** Runs an action on click that may fail, one at a time. Returns whether it is running and the last error. */
export const useAction = () => {
  const running = useRef(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = (act: () => Promise<unknown>): void => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setError(null)
    act()
      .catch((failure: unknown) => setError(errorOf(failure)))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }
  const forget = (): void => setError(null)
  return { busy, error, run, forget }
}
