import { type FormEvent, useState } from 'react'
import { type components, unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { CopyButton } from '../parts/cells.tsx'
import { TextField } from '../parts/form.tsx'
import { Button, Problem } from '../parts/layout.tsx'
import { QrCode } from '../parts/qr-code.tsx'
import { useAction } from '../parts/use-action.ts'

type Secret = components['schemas']['TotpSecret']

/** Codes for a day without the app; nothing shows them again. */
export const RecoveryCodeList = ({
  codes,
  onDone,
}: {
  readonly codes: readonly string[]
  readonly onDone: () => void
}) => (
  <>
    <p>
      Keep these recovery codes where you can find them without your phone. Each works once. They are shown only once.
    </p>
    <p>
      {codes.map((code) => (
        <span key={code}>
          <code>{code}</code>{' '}
        </span>
      ))}
      <CopyButton text={codes.join('\n')} what="recovery codes" />
    </p>
    <Button tone="primary" onClick={onDone}>
      I have saved them
    </Button>
  </>
)

/** Sets up an authenticator app: its secret, a code that proves it works, and recovery codes. */
export const TotpSetup = ({ onDone }: { readonly onDone: () => void }) => {
  const [secret, setSecret] = useState<Secret | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const { busy, error, run } = useAction()
  const begin = async (): Promise<void> => setSecret(await unwrap(await api.POST('/api/v1/account/totp')))
  const confirm = async (code: string): Promise<void> => {
    const { recovery_codes } = await unwrap(await api.POST('/api/v1/account/totp/confirm', { body: { code } }))
    if (recovery_codes.length === 0) onDone()
    else setCodes(recovery_codes)
  }
  if (codes !== null) return <RecoveryCodeList codes={codes} onDone={onDone} />
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const code = String(new FormData(event.currentTarget).get('code')).replace(/\s/g, '')
    run(() => (secret === null ? begin() : confirm(code)))
  }
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
