import { useState } from 'react'
import { type SecondFactorStep, showSecondFactor, signInByPasskey } from '../api/session.ts'
import { Button } from '../parts/layout.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

interface SecondFactorProps {
  readonly step: SecondFactorStep
  readonly onBack: () => void
}

/** Asks for an authenticator app's code or a recovery code. */
export const SecondFactor = ({ step: { factors }, onBack }: SecondFactorProps) => {
  const [recovering, setRecovering] = useState(!factors.includes('totp'))
  const send = (fields: FormData): Promise<void> => {
    const code = String(fields.get('code')).replace(/\s/g, '')
    return showSecondFactor(recovering ? { recovery_code: code } : { code })
  }
  return (
    <SignInForm
      title="Second factor"
      verb="Sign in"
      act={send}
      after={
        <>
          {factors.includes('totp') && factors.includes('recovery_code') && (
            <Button onClick={() => setRecovering(!recovering)}>
              {recovering ? 'Use the authenticator app' : 'Use a recovery code'}
            </Button>
          )}
          {factors.includes('passkey') && <TryButton act={signInByPasskey}>Use a passkey</TryButton>}
          <Button onClick={onBack}>Back</Button>
        </>
      }
    >
      <label>
        {recovering ? 'Recovery code' : 'Code from your authenticator app'}
        <input
          key={String(recovering)}
          name="code"
          required
          maxLength={64}
          inputMode={recovering ? 'text' : 'numeric'}
          autoComplete="one-time-code"
          spellCheck={false}
        />
      </label>
    </SignInForm>
  )
}
