import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { unwrap } from '../../client/client.ts'
import { api, Unreachable } from '../api/client.ts'
import { closeSession, useSession } from '../api/session.ts'
import { Button, Loaded, Problem, useLastError } from '../parts/layout.tsx'
import { forgetInvitation } from './sign-in-address.ts'
import { SignInForm } from './sign-in-form.tsx'

interface InvitationProps {
  readonly token: string
  readonly onDone: (email: string | null) => void
}

/** The page on which an invited person creates an account. `onDone` gets the new account's address, if there is one. */
export const Invitation = ({ token, onDone }: InvitationProps) => {
  const session = useSession()
  const isAccepted = useRef(false)
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: async () => unwrap(await api.POST('/api/v1/invitations/read', { body: { token } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const error = useLastError(invitation)
  const leave = (email: string | null): void => {
    forgetInvitation()
    onDone(email)
  }
  const signedIn = session.data?.signed_in && session.data.enrollment === 'token' ? session.data : null
  const accept = async (fields: FormData, email: string): Promise<void> => {
    const name = String(fields.get('name')).trim()
    const body = { token, password: String(fields.get('password')), ...(name !== '' && { name }) }
    if (!isAccepted.current) await unwrap(await api.POST('/api/v1/invitations/accept', { body }))
    isAccepted.current = true
    if (signedIn !== null) await closeSession()
    leave(email)
  }
  if (error !== null) {
    const canRetry = error instanceof Unreachable
    return (
      <SignInForm
        title="Invitation"
        verb={canRetry ? 'Try again' : 'Sign in'}
        act={async () => (canRetry ? invitation.refetch() : leave(null))}
        after={canRetry && <Button onClick={() => leave(null)}>Not now</Button>}
      >
        <Problem error={error} />
      </SignInForm>
    )
  }
  if (invitation.data === undefined) return <Loaded query={invitation}>{() => null}</Loaded>
  const { org_id, email, role } = invitation.data
  return (
    <SignInForm
      title={`Join ${org_id}`}
      verb="Join"
      act={(fields) => accept(fields, email)}
      after={<Button onClick={() => leave(null)}>Not now</Button>}
    >
      <p>
        You are invited as {role}. Your account will be {email}.
      </p>
      {signedIn !== null && (
        <p>
          You are signed in as {signedIn.person?.email ?? `the key "${signedIn.key_name}"`}. Joining signs you out, and
          you then sign in as {email}.
        </p>
      )}
      {session.data?.enrollment === 'open' && (
        <p>Enrollment is open, so the dashboard asks nobody to sign in. The account is for when it is not.</p>
      )}
      <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
      <label>
        Name
        <input name="name" maxLength={128} autoComplete="name" />
      </label>
      <label>
        Password, at least 12 characters
        <input name="password" type="password" required minLength={12} maxLength={256} autoComplete="new-password" />
      </label>
    </SignInForm>
  )
}
