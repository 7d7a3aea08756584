import { useState } from 'react'
import { SCOPES, type Scope } from '../../../domain/access.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { CheckField, TextField } from '../../parts/form.tsx'
import type { CreatedKey } from './key-actions.tsx'

/** Creates a key for a program. */
export const CreateKey = ({
  onMade,
  onClose,
}: {
  readonly onMade: (key: CreatedKey) => void
  readonly onClose: () => void
}) => {
  const [name, setName] = useState('')
  const [days, setDays] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(SCOPES.filter((scope) => scope !== 'admin'))
  const create = async (): Promise<void> => {
    const expires = days === '' ? {} : { expires_in_days: Number(days) }
    onMade(await write(api.POST('/api/v1/keys', { body: { name, scopes: [...scopes], ...expires } })))
  }
  return (
    <FormDialog
      title="Create a service key"
      verb="Create"
      disabled={scopes.length === 0}
      act={create}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        hint="What the key is for"
        required
        maxLength={128}
        value={name}
        onChange={setName}
      />
      <TextField
        label="Lifetime in days"
        name="expires_in_days"
        hint="If empty, the key never expires, unless your organization limits the lifetime of keys"
        type="number"
        min={1}
        max={3650}
        value={days}
        onChange={setDays}
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
