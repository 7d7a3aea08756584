import { useState } from 'react'
import type { components } from '../../../client/client.ts'
import { api, write } from '../../api/client.ts'
import type { ResponseOf } from '../../api/use-api.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { NumberField } from '../../parts/form.tsx'

export type Key = ResponseOf<'/api/v1/keys'>['keys'][number]
export type CreatedKey = components['schemas']['CreatedKey']

interface Action {
  readonly apiKey: Key
  readonly onClose: () => void
}

export const RevokeKey = ({ apiKey: { id, name }, onClose }: Action) => (
  <Confirm
    title={`Revoke ${name}`}
    verb="Revoke"
    onClose={onClose}
    act={() => write(api.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: id } } }))}
  >
    It stops working at once, and so does everything that signed in with it.
  </Confirm>
)

export const RotateKey = ({
  apiKey: { id, name },
  onMade,
  onClose,
}: Action & { readonly onMade: (key: CreatedKey) => void }) => {
  const [hours, setHours] = useState(24)
  const rotate = async (): Promise<void> => {
    const params = { path: { key_id: id } }
    onMade(await write(api.POST('/api/v1/keys/{key_id}/rotate', { params, body: { overlap_hours: hours } })))
  }
  return (
    <Confirm title={`Rotate ${name}`} verb="Rotate" tone="primary" act={rotate} onClose={onClose}>
      <p>
        A new key takes its place. The old one, and everything that signed in with it, works until the overlap ends.
      </p>
      <NumberField
        label="Overlap"
        name="overlap_hours"
        unit="hours"
        min={0}
        max={720}
        value={hours}
        onChange={setHours}
      />
    </Confirm>
  )
}
