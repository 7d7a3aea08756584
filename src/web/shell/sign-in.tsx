import { type FormEvent, useRef, useState } from 'react'
import { signIn } from '../api/session.ts'
import { Command } from '../parts/copy.tsx'
import { Button, Problem } from '../parts/layout.tsx'
import styles from './shell.module.css'

/** Takes a key once, and trades it for a session: the key is kept nowhere. */
export const SignIn = () => {
  const field = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    signIn({ api_key: field.current?.value.trim() ?? '' }).catch((failure: unknown) => {
      setBusy(false)
      setError(failure instanceof Error ? failure : new Error(String(failure)))
      field.current?.select()
    })
  }
  return (
    <main className={styles.signIn}>
      <form onSubmit={submit}>
        <h1>Sign in to Tributary</h1>
        <label>
          API key
          <input
            ref={field}
            type="password"
            required
            autoComplete="off"
            spellCheck={false}
            pattern="\s*sk_live_[0-9A-Za-z]{32}\s*"
            title="sk_live_ and 32 letters or digits"
          />
        </label>
        {error && <Problem error={error} />}
        <Button type="submit" tone="primary" disabled={busy}>
          Sign in
        </Button>
        <p>The key is sent once and not kept in this browser. Where svc is signed in, it opens this page signed in:</p>
        <Command>svc dashboard</Command>
        <p>No key yet? An administrator makes one with:</p>
        <Command>svc keys create "my dashboard"</Command>
      </form>
    </main>
  )
}
