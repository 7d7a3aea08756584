import { type FormEvent, useEffect, useRef, useState } from 'react'

export const errorOf = (failure: unknown): Error => (failure instanceof Error ? failure : new Error(String(failure)))

/** A listener for `onSubmit` that does this instead of what the browser would do. */
export const onSubmit =
  (act: (form: HTMLFormElement) => void) =>
  (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    act(event.currentTarget)
  }

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

/** Like `useAction`, but a new action aborts the previous one; so do `stop`, and leaving the page. */
export const useAbortableAction = () => {
  const running = useRef<AbortController>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const stop = (): void => running.current?.abort()
  useEffect(() => () => running.current?.abort(), [])
  const run = (act: (signal: AbortSignal) => Promise<unknown>): void => {
    stop()
    const control = new AbortController()
    running.current = control
    setBusy(true)
    setError(null)
    act(control.signal)
      .catch((failure: unknown) => !control.signal.aborted && setError(errorOf(failure)))
      .finally(() => running.current === control && setBusy(false))
  }
  return { busy, error, run, stop }
}
