import { useState } from 'react'
import { SCOPES, type Scope } from '../../../domain/access.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { CheckField, TextField, useFields } from '../../parts/form.tsx'
import { showKey } from './key-actions.tsx'

/** Creates a key for a program. */
export const CreateKey = () => {
  const [{ name, expires_in_days }, field] = useFields({ name: '', expires_in_days: '' })
  const [scopes, setScopes] = useState<readonly Scope[]>(SCOPES.filter((scope) => scope !== 'admin'))
  const create = async (): Promise<void> => {
    const expires = expires_in_days === '' ? {} : { expires_in_days: Number(expires_in_days) }
    showKey(await write(api.POST('/api/v1/keys', { body: { name, scopes: [...scopes], ...expires } })))
  }
  return (
    <FormDialog title="Create a service key" verb="Create" disabled={scopes.length === 0} act={create}>
      <TextField label="Name" hint="What the key is for" required maxLength={128} {...field('name')} />
      <TextField
        label="Lifetime in days"
        hint="If empty, the key never expires, unless your organization limits the lifetime of keys"
        type="number"
        min={1}
        max={3650}
        {...field('expires_in_days')}
      />
      {SCOPES.map((scope) => (
        <CheckField
          key={scope}
          label={scope}
          checked={scopes.includes(scope)}
          onChange={(checked) => setScopes(SCOPES.filter((each) => (each === scope ? checked : scopes.includes(each))))}
        />
      ))}
    </FormDialog>
  )
}
