import { type PublicKeyCredentialCreationOptionsJSON, startRegistration } from '@simplewebauthn/browser'
import { useState } from 'react'
import { unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { changeFactors } from '../api/confirmation.ts'
import { explainPasskeyError } from '../api/passkeys.ts'
import { TextField } from '../parts/form.tsx'
import { Button, Problem } from '../parts/layout.tsx'
import { onSubmit, useAction } from '../parts/use-action.ts'
import { showRecoveryCodes } from './totp-setup.tsx'

const add = async (name: string): Promise<readonly string[]> => {
  const { public_key } = await unwrap(await api.POST('/api/v1/account/passkeys/options'))
  const optionsJSON = public_key as unknown as PublicKeyCredentialCreationOptionsJSON
  const credential = { ...(await startRegistration({ optionsJSON }).catch(explainPasskeyError)) }
  const body = { name, credential }
  return (await unwrap(await api.POST('/api/v1/account/passkeys', { body }))).recovery_codes
}

/** Adds a passkey. A person's first factor also gets recovery codes. */
export const PasskeySetup = ({ onDone }: { readonly onDone: () => void }) => {
  const [name, setName] = useState('')
  const { busy, error, run } = useAction()
  const create = async (): Promise<void> => {
    showRecoveryCodes(await changeFactors(() => add(name)))
    setName('')
    onDone()
  }
  return (
    <form onSubmit={onSubmit(() => run(create))}>
      <TextField
        label="Name of the passkey"
        name="name"
        required
        maxLength={100}
        placeholder="This laptop"
        value={name}
        onChange={setName}
      />
      {error && <Problem error={error} />}
      <Button type="submit" disabled={busy}>
        Add a passkey
      </Button>
    </form>
  )
}
