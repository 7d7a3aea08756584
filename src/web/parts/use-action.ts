import { useState } from 'react'

export const errorOf = (failure: unknown): Error => (failure instanceof Error ? failure : new Error(String(failure)))

/** Something that may fail, run by a click: whether it runs now, and why the last run failed. */
export const useAction = () => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = (act: () => Promise<unknown>): void => {
    setBusy(true)
    setError(null)
    act()
      .catch((failure: unknown) => setError(errorOf(failure)))
      .finally(() => setBusy(false))
  }
  return { busy, error, run }
}
