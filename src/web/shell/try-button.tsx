import { type ReactNode, useState } from 'react'
import { Button, Problem } from '../parts/layout.tsx'

/** A button with something that may fail, which is said below it; it is given the form around it. */
export const TryButton = ({
  act,
  children,
}: {
  readonly act: (form: HTMLFormElement | null) => Promise<unknown>
  readonly children: ReactNode
}) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = (form: HTMLFormElement | null): void => {
    setBusy(true)
    setError(null)
    act(form)
      .catch((failure: unknown) => setError(failure instanceof Error ? failure : new Error(String(failure))))
      .finally(() => setBusy(false))
  }
  return (
    <>
      <Button disabled={busy} onClick={({ currentTarget }) => run(currentTarget.form)}>
        {children}
      </Button>
      {error && <Problem error={error} />}
    </>
  )
}
