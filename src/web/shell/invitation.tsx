import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { Button, Loaded, Problem } from '../parts/layout.tsx'
import styles from './shell.module.css'

const FRAGMENT = /^#invitation=([\w-]{43})$/

/** The token of an invitation's link, which is taken out of the address before anything else sees it. */
export const takeInvitation = (): string | null => {
  const token = FRAGMENT.exec(window.location.hash)?.[1] ?? null
  if (token !== null) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return token
}

/** Where an invited person makes their account. */
export const Invitation = ({ token, onDone }: { readonly token: string; readonly onDone: () => void }) => {
  const invitation = useQuery({
    queryKey: ['invitation'],
    queryFn: async () => unwrap(await api.POST('/api/v1/invitations/read', { body: { token } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const accept = async (fields: FormData): Promise<void> => {
    const name = String(fields.get('name')).trim()
    const body = { token, password: String(fields.get('password')), ...(name !== '' && { name }) }
    await unwrap(await api.POST('/api/v1/invitations/accept', { body }))
    onDone()
  }
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    accept(new FormData(event.currentTarget)).catch((failure: unknown) => {
      setBusy(false)
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    })
  }
  return (
    <main className={styles.signIn}>
      <Loaded query={invitation}>
        {({ org_id, email, role }) => (
          <form onSubmit={submit}>
            <h1>Join {org_id}</h1>
            <p>
              You are invited as {role}. Your account will be {email}.
            </p>
            <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
            <label>
              Name
              <input name="name" maxLength={128} autoComplete="name" />
            </label>
            <label>
              Password, at least 12 characters
              <input
                name="password"
                type="password"
                required
                minLength={12}
                maxLength={256}
                autoComplete="new-password"
              />
            </label>
            {error && <Problem error={error} />}
            <Button type="submit" tone="primary" disabled={busy}>
              Join
            </Button>
          </form>
        )}
      </Loaded>
    </main>
  )
}
