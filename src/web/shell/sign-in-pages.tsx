import type { SecondFactorStep, Session } from '../api/session.ts'
import { ConfirmSession } from './confirm-session.tsx'
import { Enroll } from './enroll.tsx'
import { Invitation } from './invitation.tsx'
import { ProviderAnswer } from './provider-sign-in.tsx'
import { SignIn } from './sign-in.tsx'
import { SignInLink } from './sign-in-link.tsx'
import type { WayIn } from './way-in.ts'

/** What the way in has led to: an account to sign in to, a second factor that is due, or a session. */
export interface Arrived {
  readonly email?: string
  readonly step?: SecondFactorStep | null
}

export const Arrival = ({ way, onDone }: { readonly way: WayIn; readonly onDone: (arrived: Arrived) => void }) => {
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
