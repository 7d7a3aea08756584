import { checkSession } from '../api/client.ts'
import { type SecondFactorStep, type Session, signIn, signOut } from '../api/session.ts'
import { Button } from '../parts/layout.tsx'
import { ConfirmSession } from './confirm-session.tsx'
import { Invitation } from './invitation.tsx'
import { PasskeySetup } from './passkey-setup.tsx'
import { ProviderAnswer } from './provider-sign-in.tsx'
import styles from './shell.module.css'
import { SignIn } from './sign-in.tsx'
import type { SignInAddress } from './sign-in-address.ts'
import { SignInForm, TryButton } from './sign-in-form.tsx'
import { TotpSetup } from './totp-setup.tsx'

/** What the way in has led to: an account to sign in to, a second factor that is due, or a session. */
export interface Arrived {
  readonly email?: string
  readonly step?: SecondFactorStep | null
}

/** Asks before a link signs this browser in: whoever made it could be somebody else, who wants it to work for them. */
const SignInLink = ({ code, onDone }: { readonly code: string; readonly onDone: () => void }) => (
  <SignInForm
    title="Sign in this browser?"
    verb="Sign in"
    act={async () => {
      await signIn({ code })
      onDone()
    }}
    after={<Button onClick={onDone}>Not now</Button>}
  >
    <p>
      This link signs the browser in with the key of the person who created it. Continue only if you have just run svc
      dashboard yourself.
    </p>
  </SignInForm>
)

/** Where the organization requires a second factor, and there is none yet. */
const Enroll = () => (
  <main className={styles.signIn}>
    <section>
      <h1>Set up a second factor</h1>
      <p>Your organization requires one before you continue.</p>
      <TotpSetup onDone={() => void checkSession()} />
      <PasskeySetup onDone={() => void checkSession()} />
      <TryButton act={signOut}>Sign out</TryButton>
    </section>
  </main>
)

export const Arrival = ({
  way,
  onDone,
}: {
  readonly way: SignInAddress
  readonly onDone: (arrived: Arrived) => void
}) => {
  switch (way.kind) {
    case 'invitation':
      return <Invitation token={way.token} onDone={(email) => onDone({ email })} />
    case 'link':
      return <SignInLink code={way.code} onDone={() => onDone({})} />
    case 'provider':
      return <ProviderAnswer query={way.query} onDone={(step) => onDone({ step })} />
  }
}

/** For whoever is not signed in, or must do something before the dashboard opens. */
export const SignInPage = ({ session, arrived }: { readonly session: Session; readonly arrived: Arrived }) => {
  const { person, identity_provider: provider } = session
  if (person?.restriction === 'confirm') return <ConfirmSession person={person} provider={provider} />
  if (person?.restriction === 'enroll') return <Enroll />
  return <SignIn email={arrived.email ?? null} provider={provider} begun={arrived.step ?? null} />
}
