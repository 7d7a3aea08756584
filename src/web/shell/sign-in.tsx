import { useState } from 'react'
import { type SecondFactorStep, signIn, signInByPasskey } from '../api/session.ts'
import { Command } from '../parts/cells.tsx'
import { Button } from '../parts/layout.tsx'
import { ByProvider } from './provider-sign-in.tsx'
import { SecondFactor } from './second-factor.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

/** Takes a key once, and trades it for a session: the key is kept nowhere. */
const ByKey = ({ provider, onOther }: { readonly provider: string | null; readonly onOther: () => void }) => (
  <SignInForm
    title="Sign in to Tributary"
    verb="Sign in"
    act={(fields) => signIn({ api_key: String(fields.get('key')).trim() })}
    after={
      <>
        <Button onClick={onOther}>Use email and password</Button>
        <TryButton act={signInByPasskey}>Use a passkey</TryButton>
        <ByProvider provider={provider} />
        <p>
          The key is sent once and not kept in this browser. If svc is signed in on this machine, it can open this page
          for you:
        </p>
        <Command>svc dashboard</Command>
        <p>No key yet? An administrator creates one with:</p>
        <Command>svc keys create "my dashboard"</Command>
      </>
    }
  >
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

const ByPassword = ({
  email,
  provider,
  onStep,
  onOther,
}: {
  readonly email: string
  readonly provider: string | null
  readonly onStep: (step: SecondFactorStep | null) => void
  readonly onOther: () => void
}) => (
  <SignInForm
    title="Sign in to Tributary"
    verb="Sign in"
    act={async (fields) => {
      const orgId = String(fields.get('org')).trim()
      const person = { email: String(fields.get('email')), password: String(fields.get('password')) }
      onStep(await signIn({ ...person, ...(orgId !== '' && { org_id: orgId }) }))
    }}
    after={
      <>
        <TryButton act={signInByPasskey}>Use a passkey</TryButton>
        <ByProvider provider={provider} />
        <Button onClick={onOther}>Use an API key</Button>
      </>
    }
  >
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
      <input name="org" maxLength={128} autoComplete="organization" />
    </label>
  </SignInForm>
)

/** By a key, by email and password, or by the `provider`; with `email` at once, of somebody who has just joined. */
export const SignIn = ({
  email,
  provider,
  begun,
}: {
  readonly email: string | null
  readonly provider: string | null
  /** By the provider, which is one factor. */
  readonly begun: SecondFactorStep | null
}) => {
  const [byKey, setByKey] = useState(email === null && provider === null)
  const [step, setStep] = useState(begun)
  if (step !== null) return <SecondFactor step={step} onBack={() => setStep(null)} />
  if (byKey) return <ByKey provider={provider} onOther={() => setByKey(false)} />
  return <ByPassword email={email ?? ''} provider={provider} onStep={setStep} onOther={() => setByKey(true)} />
}
