import { askPasskey, confirmSession, type Session } from '../api/session.ts'
import { ByProvider } from './provider-sign-in.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

/** Who is there, still the same person? Asked after a while without use, and before factors are changed. */
export const ConfirmSession = ({
  person,
  provider,
}: {
  readonly person: NonNullable<Session['person']>
  readonly provider: string | null
}) => (
  <SignInForm
    title="Confirm it’s you"
    verb="Continue"
    act={(fields) => confirmSession({ password: String(fields.get('password')) })}
    after={
      <>
        <TryButton act={async () => confirmSession({ credential: await askPasskey() })}>Use a passkey</TryButton>
        <ByProvider provider={provider} />
      </>
    }
  >
    <p>
      You are signed in as {person.email}. You are asked again before you change how you sign in and, if your
      organization requires it, after a period of inactivity.
    </p>
    <input type="hidden" name="email" autoComplete="username" value={person.email} readOnly />
    <label>
      Password
      <input name="password" type="password" required maxLength={256} autoComplete="current-password" />
    </label>
  </SignInForm>
)
