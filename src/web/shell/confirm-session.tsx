import { useQuery } from '@tanstack/react-query'
import { askPasskey } from '../api/passkeys.ts'
import { accountToConfirm, confirmSession, type Session, signOut } from '../api/session.ts'
import { Button, Loaded } from '../parts/layout.tsx'
import { ByProvider } from './provider-sign-in.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

interface ConfirmSessionProps {
  readonly session: Session
  readonly person: NonNullable<Session['person']>
  /** Undefined if the confirmation cannot be canceled. */
  readonly onCancel?: () => void
}

/**
 * Confirms that it is still the same person: after inactivity, and before sign-in methods are changed. It can be left in every
 * state, by signing out or canceling.
 */
export const ConfirmSession = ({ session, person, onCancel }: ConfirmSessionProps) => {
  const { org_id, identity_provider: provider } = session
  const account = useQuery({ queryKey: ['account-to-confirm', person.id], queryFn: accountToConfirm })
  const hasPassword = account.data?.password === true
  const hasPasskey = account.data !== undefined && account.data.passkeys > 0
  const usedProvider = account.data?.identity_provider === true ? provider : null
  const hasMethod = hasPassword || hasPasskey || usedProvider !== null
  return (
    <SignInForm
      title="Confirm it’s you"
      verb={hasPassword ? 'Continue' : undefined}
      act={(fields) => confirmSession({ password: String(fields.get('password')) })}
      after={
        <>
          {hasPasskey && (
            <TryButton act={async () => confirmSession({ credential: await askPasskey() })}>Use a passkey</TryButton>
          )}
          <ByProvider provider={usedProvider} orgId={org_id} />
          {onCancel && <Button onClick={onCancel}>Cancel</Button>}
          <TryButton act={signOut}>Sign out</TryButton>
        </>
      }
    >
      <p>
        You are signed in as {person.email}. You are asked again before you change how you sign in and, if your
        organization requires it, after a period of inactivity.
      </p>
      <input type="hidden" name="email" autoComplete="username" value={person.email} readOnly />
      <Loaded query={account}>
        {() =>
          hasMethod ? null : (
            <p role="status">
              Your account has no password, passkey, or identity provider to confirm it with. Sign out, and ask an admin
              of your organization for help.
            </p>
          )
        }
      </Loaded>
      {hasPassword && (
        <label>
          Password
          <input name="password" type="password" required maxLength={256} autoComplete="current-password" />
        </label>
      )}
    </SignInForm>
  )
}
