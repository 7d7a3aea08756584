import { useEffect } from 'react'
import { checkSession } from '../api/client.ts'
import { type SecondFactorStep, type Session, signIn, signOut } from '../api/session.ts'
import { sessionLock } from '../api/session-lock.ts'
import { Button } from '../parts/layout.tsx'
import { Modal } from '../parts/modal.tsx'
import { ConfirmSession } from './confirm-session.tsx'
import { Invitation } from './invitation.tsx'
import { PasskeySetup } from './passkey-setup.tsx'
import { ProviderCallback } from './provider-sign-in.tsx'
import styles from './shell.module.css'
import { SignIn } from './sign-in.tsx'
import type { SignInAddress } from './sign-in-address.ts'
import { OverPage, SignInForm, SignInFrame, TryButton } from './sign-in-form.tsx'
import { TotpSetup } from './totp-setup.tsx'

/** The result of arriving by a sign-in address: an account to sign in to, a required second factor, or a session. */
export interface Arrived {
  readonly email?: string
  readonly step?: SecondFactorStep | null
}

/** Asks before a link signs in this browser: an attacker may have made it, to have the victim work in their account. */
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

/** Shown if the organization requires a second factor and the person has none. */
const Enroll = () => (
  <SignInFrame>
    <section>
      <h1>Set up a second factor</h1>
      <p>Your organization requires one before you continue.</p>
      <TotpSetup onDone={() => void checkSession()} />
      <PasskeySetup onDone={() => void checkSession()} />
      <TryButton act={signOut}>Sign out</TryButton>
    </section>
  </SignInFrame>
)

interface ArrivalProps {
  readonly way: SignInAddress
  readonly onDone: (arrived: Arrived) => void
}

export const Arrival = ({ way, onDone }: ArrivalProps) => {
  switch (way.kind) {
    case 'invitation':
      return <Invitation token={way.token} onDone={(email) => onDone(email === null ? {} : { email })} />
    case 'link':
      return <SignInLink code={way.code} onDone={() => onDone({})} />
    case 'incomplete':
      return (
        <SignInForm title="This link is incomplete" verb="Continue without it" act={async () => onDone({})}>
          <p>
            Part of it is missing or was changed, for example by a line break in an email. Copy all of it, and open it
            again.
          </p>
        </SignInForm>
      )
    case 'provider':
      return <ProviderCallback query={way.query} onDone={(step) => onDone({ step })} />
  }
}

/** For users who are not signed in, or must take another step first. */
export const SignInPage = ({ session, arrived }: { readonly session: Session; readonly arrived: Arrived }) => {
  const { person, identity_provider: provider } = session
  if (person?.restriction === 'confirm') return <ConfirmSession session={session} person={person} />
  if (person?.restriction === 'enroll') return <Enroll />
  return <SignIn email={arrived.email ?? null} provider={provider} begun={arrived.step ?? null} />
}

const nameOf = ({ person, key_name, org_id }: Session): string => {
  const name = person?.email ?? (key_name === null ? null : `the key "${key_name}"`)
  return [name, org_id].filter((part) => part !== null).join(' of ')
}

interface SignInCoverProps {
  readonly session: Session
  /** The session that the page was opened with. */
  readonly former: Session
  readonly isRequested: boolean
}

/** Covers a page whose session has ended or needs a confirmation. The page continues for the same user. */
export const SignInCover = ({ session, former, isRequested }: SignInCoverProps) => {
  const { person, identity_provider: provider } = session
  const close = (): void => {
    if (isRequested) sessionLock.set(null)
  }
  // The browser would pass Esc on to the dialogs below, and close them.
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.preventDefault()
      if (isRequested) sessionLock.set(null)
    }
    document.addEventListener('keydown', onKey, { capture: true })
    return () => document.removeEventListener('keydown', onKey, { capture: true })
  }, [isRequested])
  return (
    <Modal className={styles.cover} aria-label="Sign in" onClose={close} {...{ closedby: 'none' }}>
      <OverPage value={true}>
        {person?.restriction === 'confirm' ? (
          <ConfirmSession session={session} person={person} {...(isRequested && { onCancel: close })} />
        ) : person?.restriction === 'enroll' ? (
          <Enroll />
        ) : (
          <SignIn
            email={former.person?.email ?? null}
            orgId={former.org_id}
            provider={provider}
            begun={null}
            ended={nameOf(former)}
          />
        )}
      </OverPage>
    </Modal>
  )
}
