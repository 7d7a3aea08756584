import type { components } from '../../../client/client.ts'
import { api, write } from '../../api/client.ts'
import type { ResponseOf } from '../../api/use-api.ts'
import { Confirm, ConfirmButton } from '../../parts/dialog.tsx'
import { NumberField, useFields } from '../../parts/form.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import { exact } from '../../text/format.ts'

export type Key = ResponseOf<'/api/v1/keys'>['keys'][number]

interface KeyProps {
  readonly apiKey: Key
}

export const showKey = ({ api_key: text, expires_at }: components['schemas']['CreatedKey']): void => {
  const end = expires_at === null ? 'It never expires.' : `It expires on ${exact(new Date(expires_at))}.`
  showOnce({ title: 'The new key', what: 'key', text, says: `Save it now: it is shown only once. ${end}` })
}

export const RevokeKey = ({ apiKey: { id, name } }: KeyProps) => (
  <ConfirmButton
    button={{ 'aria-label': `Revoke ${name}` }}
    title={`Revoke ${name}`}
    verb="Revoke"
    act={() => write(api.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: id } } }))}
  >
    It stops working at once, and so does everything that signed in with it.
  </ConfirmButton>
)

export const RotateKey = ({ apiKey: { id, name } }: KeyProps) => {
  const [body, field] = useFields({ overlap_hours: 24 })
  const rotate = async (): Promise<void> => {
    const params = { path: { key_id: id } }
    showKey(await write(api.POST('/api/v1/keys/{key_id}/rotate', { params, body })))
  }
  return (
    <Confirm title={`Rotate ${name}`} verb="Rotate" tone="primary" act={rotate}>
      <p>
        A new key takes its place. The old one, and everything that signed in with it, works until the overlap ends.
      </p>
      <NumberField label="Overlap" unit="hours" min={0} max={720} {...field('overlap_hours')} />
    </Confirm>
  )
}
