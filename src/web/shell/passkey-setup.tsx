import { type PublicKeyCredentialCreationOptionsJSON, startRegistration } from '@simplewebauthn/browser'
import { type FormEvent, useState } from 'react'
import { unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { TextField } from '../parts/form.tsx'
import { Button, Problem } from '../parts/layout.tsx'
import { useAction } from '../parts/use-action.ts'
import { RecoveryCodeList } from './totp-setup.tsx'

const add = async (name: string): Promise<readonly string[]> => {
  const { public_key } = await unwrap(await api.POST('/api/v1/account/passkeys/options'))
  const optionsJSON = public_key as unknown as PublicKeyCredentialCreationOptionsJSON
  const body = { name, credential: { ...(await startRegistration({ optionsJSON })) } }
  return (await unwrap(await api.POST('/api/v1/account/passkeys', { body }))).recovery_codes
}

/** Adds a passkey; with somebody's first factor come recovery codes. */
export const PasskeySetup = ({ onDone }: { readonly onDone: () => void }) => {
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const { busy, error, run } = useAction()
  if (codes !== null) return <RecoveryCodeList codes={codes} onDone={onDone} />
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name')).trim()
    run(async () => {
      const made = await add(name)
      if (made.length === 0) onDone()
      else setCodes(made)
    })
  }
  return (
    <form onSubmit={submit}>
      <TextField label="Name of the passkey" name="name" required maxLength={100} placeholder="This laptop" />
      {error && <Problem error={error} />}
      <Button type="submit" disabled={busy}>
        Add a passkey
      </Button>
    </form>
  )
}
