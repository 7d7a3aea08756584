import { useState } from 'react'
import { ApiError } from '../../client/client.ts'
import { type SecondFactorStep, signIn, signInByPasskey } from '../api/session.ts'
import { Command } from '../parts/cells.tsx'
import { Button } from '../parts/layout.tsx'
import { ByProvider } from './provider-sign-in.tsx'
import { SecondFactor } from './second-factor.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

/** The notice on a page whose session has ended; `name` is its user. */
const Ended = ({ name }: { readonly name: string | undefined }) =>
  name !== undefined && (
    <p role="status">
      Your session has ended. Sign in again as {name} to continue where you were: what you entered is still there.
    </p>
  )

interface WayProps {
  /** Of the user whose session has ended. */
  readonly orgId: string | null
  readonly provider: string | null
  /** The user whose session has ended while the page is open. */
  readonly ended: string | undefined
  /** Called for the other way to sign in. */
  readonly onOther: () => void
}

/** Exchanges a key for a session; the key is not stored. */
const ByKey = ({ orgId, provider, ended, onOther }: WayProps) => (
  <SignInForm
    title="Sign in to Tributary"
    verb="Sign in"
    act={(fields) => signIn({ api_key: String(fields.get('key')).trim() })}
    after={
      <>
        <Button onClick={onOther}>Use email and password</Button>
        <TryButton act={signInByPasskey}>Use a passkey</TryButton>
        <ByProvider provider={provider} orgId={orgId} />
        <p>
          The key is sent once and not kept in this browser. If svc is signed in on this machine, it can open this page
          for you:
        </p>
        <Command>svc dashboard</Command>
        <p>No key yet? The service prints one at its first start. An admin creates more with:</p>
        <Command>svc keys create "my dashboard"</Command>
      </>
    }
  >
    <Ended name={ended} />
    <label>
      API key
      <input
        name="key"
        type="password"
        required
        autoComplete="off"
        spellCheck={false}
        pattern="\s*sk_live_[0-9A-Za-z]{32}\s*"
        title="sk_live_ followed by 32 letters or digits"
      />
    </label>
  </SignInForm>
)

/** Error messages name fields as the API does; the form has a label for this one. */
const inWordsOfForm = (error: unknown): never => {
  if (error instanceof ApiError) error.message = error.message.replace(/\bin org_id\b/, 'under Organization')
  throw error
}

interface PasswordProps extends WayProps {
  readonly email: string
  readonly onStep: (step: SecondFactorStep | null) => void
}

const ByPassword = ({ email, orgId, provider, ended, onStep, onOther }: PasswordProps) => (
  <SignInForm
    title="Sign in to Tributary"
    verb="Sign in"
    act={async (fields) => {
      const orgId = String(fields.get('org')).trim()
      const person = { email: String(fields.get('email')), password: String(fields.get('password')) }
      onStep(await signIn({ ...person, ...(orgId !== '' && { org_id: orgId }) }).catch(inWordsOfForm))
    }}
    after={
      <>
        <TryButton act={signInByPasskey}>Use a passkey</TryButton>
        <ByProvider provider={provider} orgId={orgId} />
        <Button onClick={onOther}>Use an API key</Button>
      </>
    }
  >
    <Ended name={ended} />
    {email !== '' && ended === undefined && <p role="status">Your account is ready. Sign in with your password.</p>}
    <label>
      Email
      <input name="email" inputMode="email" required defaultValue={email} maxLength={254} autoComplete="username" />
    </label>
    <label>
      Password
      <input name="password" type="password" required maxLength={256} autoComplete="current-password" />
    </label>
    <label>
      Organization, if you have several accounts
      <input name="org" defaultValue={orgId ?? ''} maxLength={128} autoComplete="organization" />
    </label>
  </SignInForm>
)

interface SignInProps extends Pick<WayProps, 'provider'>, Partial<Pick<WayProps, 'orgId' | 'ended'>> {
  readonly email: string | null
  /** From the provider, which counts as one factor. */
  readonly begun: SecondFactorStep | null
}

/** Sign-in by key, by email and password, or by `provider`. A person who just joined starts with `email` filled in. */
export const SignIn = ({ email, begun, orgId = null, provider, ended }: SignInProps) => {
  const [byKey, setByKey] = useState(email === null && provider === null)
  const [step, setStep] = useState(begun)
  if (step !== null) return <SecondFactor step={step} onBack={() => setStep(null)} />
  const way = { orgId, provider, ended, onOther: () => setByKey(!byKey) }
  return byKey ? <ByKey {...way} /> : <ByPassword email={email ?? ''} onStep={setStep} {...way} />
}
