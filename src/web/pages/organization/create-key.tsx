import { useState } from 'react'
import { SCOPES, type Scope } from '../../../domain/access.ts'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { CheckField, Fields, TextField } from '../../parts/form.tsx'

/** A key for a program. */
export const CreateKey = ({
  onMade,
  onClose,
}: {
  readonly onMade: (secret: string) => void
  readonly onClose: () => void
}) => {
  const [name, setName] = useState('')
  const [days, setDays] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(SCOPES.filter((scope) => scope !== 'admin'))
  const create = async (): Promise<void> => {
    const expires = days === '' ? {} : { expires_in_days: Number(days) }
    const { api_key } = await write(api.POST('/api/v1/keys', { body: { name, scopes: [...scopes], ...expires } }))
    onMade(api_key)
  }
  return (
    <Dialog title="Create a service key" open onClose={onClose}>
      <SendForm verb="Create" tone="primary" disabled={scopes.length === 0} act={create} onClose={onClose}>
        <Fields>
          <TextField
            label="Name"
            hint="What the key is for"
            required
            maxLength={128}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <TextField
            label="Lifetime in days"
            hint="Never expires when empty"
            type="number"
            min={1}
            max={3650}
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
          {SCOPES.map((scope) => (
            <CheckField
              key={scope}
              label={scope}
              checked={scopes.includes(scope)}
              onChange={(checked) =>
                setScopes(SCOPES.filter((each) => (each === scope ? checked : scopes.includes(each))))
              }
            />
          ))}
        </Fields>
      </SendForm>
    </Dialog>
  )
}
