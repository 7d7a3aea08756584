import { useQuery } from '@tanstack/react-query'
import { accountToConfirm, askPasskey, confirmSession, type Session } from '../api/session.ts'
import { Button, Loaded } from '../parts/layout.tsx'
import { ByProvider } from './provider-sign-in.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

/** Confirms that it is still the same person: after inactivity, and before sign-in methods are changed. */
export const ConfirmSession = ({
  person,
  provider,
  onCancel,
}: {
  readonly person: NonNullable<Session['person']>
  readonly provider: string | null
  /** Undefined if the confirmation cannot be canceled. */
  readonly onCancel?: () => void
}) => {
  const account = useQuery({ queryKey: ['account-to-confirm', person.id], queryFn: accountToConfirm })
  if (account.data === undefined) return <Loaded query={account}>{() => null}</Loaded>
  const { password, passkeys, identity_provider } = account.data
  return (
    <SignInForm
      title="Confirm it’s you"
      verb={password ? 'Continue' : undefined}
      act={(fields) => confirmSession({ password: String(fields.get('password')) })}
      after={
        <>
          {passkeys > 0 && (
            <TryButton act={async () => confirmSession({ credential: await askPasskey() })}>Use a passkey</TryButton>
          )}
          <ByProvider provider={identity_provider ? provider : null} />
          {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        </>
      }
    >
      <p>
        You are signed in as {person.email}. You are asked again before you change how you sign in and, if your
        organization requires it, after a period of inactivity.
      </p>
      <input type="hidden" name="email" autoComplete="username" value={person.email} readOnly />
      {password && (
        <label>
          Password
          <input name="password" type="password" required maxLength={256} autoComplete="current-password" />
        </label>
      )}
    </SignInForm>
  )
}
