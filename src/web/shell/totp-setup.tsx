import { useState } from 'react'
import { type components, unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { changeFactors } from '../api/confirmation.ts'
import { CopyButton } from '../parts/cells.tsx'
import { TextField } from '../parts/form.tsx'
import { Button, Problem } from '../parts/layout.tsx'
import { QrCode } from '../parts/qr-code.tsx'
import { showOnce } from '../parts/shown-once.tsx'
import { onSubmit, useAction } from '../parts/use-action.ts'

type Secret = components['schemas']['TotpSecret']

/** Shows recovery codes, for when the app is not available. */
export const showRecoveryCodes = (codes: readonly string[]): void => {
  if (codes.length === 0) return
  showOnce({
    title: 'Your recovery codes',
    what: 'recovery codes',
    text: codes.join('\n'),
    says: 'Keep these recovery codes where you can find them without your phone. Each works once. They are shown only once.',
    verb: 'I have saved them',
  })
}

/** Sets up an authenticator app: its secret, a code to prove that it works, and recovery codes. */
export const TotpSetup = ({ onDone }: { readonly onDone: () => void }) => {
  const [secret, setSecret] = useState<Secret | null>(null)
  const { busy, error, run } = useAction()
  const begin = async (): Promise<void> => setSecret(await unwrap(await api.POST('/api/v1/account/totp')))
  const confirm = async (code: string): Promise<void> => {
    const { recovery_codes } = await unwrap(await api.POST('/api/v1/account/totp/confirm', { body: { code } }))
    showRecoveryCodes(recovery_codes)
    onDone()
  }
  const submit = onSubmit((form) => {
    const code = String(new FormData(form).get('code')).replace(/\s/g, '')
    run(() => changeFactors(() => (secret === null ? begin() : confirm(code))))
  })
  return (
    <form onSubmit={submit}>
      {secret !== null && (
        <>
          <p>
            Scan this with an authenticator app, or type the secret into it. Then enter the code that the app shows.
          </p>
          <QrCode text={secret.uri} label="QR code for an authenticator app" />
          <p>
            <code>{secret.secret}</code> <CopyButton text={secret.secret} what="secret" />
          </p>
          <TextField
            label="Code"
            name="code"
            required
            maxLength={12}
            inputMode="numeric"
            autoComplete="one-time-code"
          />
        </>
      )}
      {error && <Problem error={error} />}
      <Button type="submit" tone="primary" disabled={busy}>
        {secret === null ? 'Set up an authenticator app' : 'Confirm'}
      </Button>
    </form>
  )
}
