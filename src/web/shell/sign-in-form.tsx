import { type FormEvent, type ReactNode, useState } from 'react'
import { Button, Problem } from '../parts/layout.tsx'
import styles from './shell.module.css'

/** A form in the middle of the page that sends its fields; what went wrong is said in it. */
export const SignInForm = ({
  title,
  verb,
  act,
  children,
  after,
}: {
  readonly title: string
  readonly verb: string
  readonly act: (fields: FormData) => Promise<unknown>
  readonly children: ReactNode
  readonly after?: ReactNode
}) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = event.currentTarget
    setBusy(true)
    setError(null)
    act(new FormData(form))
      .catch((failure: unknown) => setError(failure instanceof Error ? failure : new Error(String(failure))))
      .finally(() => setBusy(false))
  }
  return (
    <main className={styles.signIn}>
      <form onSubmit={submit}>
        <h1>{title}</h1>
        {children}
        {error && <Problem error={error} />}
        <Button type="submit" tone="primary" disabled={busy}>
          {verb}
        </Button>
        {after}
      </form>
    </main>
  )
}
