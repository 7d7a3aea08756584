import { useState } from 'react'
import { signIn } from '../api/session.ts'
import { Button, Problem } from '../parts/layout.tsx'
import styles from './shell.module.css'

const FRAGMENT = /^#sign-in=([\w-]{43})$/

/** The code of a link, which is taken out of the address before anything else sees it. */
export const takeLinkCode = (): string | null => {
  const code = FRAGMENT.exec(window.location.hash)?.[1] ?? null
  if (code !== null) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return code
}

/** Asks before a link signs this browser in: whoever made it could be somebody else, who wants it to work for them. */
export const SignInLink = ({ code, onDone }: { readonly code: string; readonly onDone: () => void }) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const approve = (): void => {
    setBusy(true)
    setError(null)
    signIn({ code }).then(onDone, (failure: unknown) => {
      setBusy(false)
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    })
  }
  return (
    <main className={styles.signIn}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) approve()
        }}
      >
        <h1>Sign in this browser?</h1>
        <p>
          A link signs it in with the key of whoever made it. Go on only if you have just run svc dashboard yourself.
        </p>
        {error && <Problem error={error} />}
        <Button type="submit" tone="primary" disabled={busy}>
          Sign in
        </Button>
        <Button onClick={onDone}>Not now</Button>
      </form>
    </main>
  )
}
