import { useDeferredValue, useState } from 'react'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { CheckField, Outcome, TextField } from '../../parts/form.tsx'
import { Loaded, Quiet } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import styles from './delivery.module.css'
import type { Group } from './delivery-records.ts'

type Device = ResponseOf<'/api/v1/fleet/devices'>['devices'][number]

const SHOWN = 50

/** @throws Error, which keeps the dialog open, if the service added only some */
const requireAll = (
  { org_id }: Group,
  { added, skipped }: { added: readonly string[]; skipped: readonly string[] },
) => {
  if (skipped.length === 0) return
  const rest = added.length === 0 ? '' : ` Added: ${added.join(', ')}.`
  throw new Error(`Not added: ${skipped.join(', ')}. Already in the group, or no longer a device of ${org_id}.${rest}`)
}

/** A name means the organization's own device, if it has one. */
const isChoice = ({ device_id, org_id }: Device, _: number, all: readonly Device[]): boolean =>
  org_id !== null || !all.some((other) => other.device_id === device_id && other.org_id !== null)

/** Adds devices to a group. The server searches, so that only matches are loaded. */
export const AddDevices = ({ group }: { readonly group: Group }) => {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const q = useDeferredValue(text)
  const found = useApi('/api/v1/fleet/devices', {
    query: { org_id: group.org_id, q, limit: SHOWN, sort: 'device_id', order: 'asc' },
  })
  const toggle = (id: string, isChosen: boolean): void =>
    setChosen(isChosen ? [...chosen, id] : chosen.filter((each) => each !== id))
  const params = { path: { group_id: group.id } }
  return (
    <FormDialog
      title={`Add devices to ${group.name}`}
      verb={`Add ${plural(chosen.length, 'device')}`}
      disabled={chosen.length === 0}
      act={async () => {
        const body = { device_ids: [...chosen] }
        const result = await write(api.POST('/api/v1/device-groups/{group_id}/devices', { params, body }))
        setChosen([])
        requireAll(group, result)
      }}
    >
      <TextField label="Search devices" type="search" value={text} onChange={setText} />
      <Loaded query={found}>
        {({ devices, next }) => (
          <>
            <div className={styles.choices}>
              {devices.length === 0 && <Quiet>No device matches.</Quiet>}
              {devices.filter(isChoice).map(({ id, device_id, platform }) => (
                <CheckField
                  key={id}
                  label={
                    <>
                      {device_id} <Quiet>{platform}</Quiet>
                    </>
                  }
                  checked={chosen.includes(device_id)}
                  onChange={(isChosen) => toggle(device_id, isChosen)}
                />
              ))}
            </div>
            {next !== null && <Quiet>{`Only the first ${SHOWN} are shown; search for others.`}</Quiet>}
          </>
        )}
      </Loaded>
      {chosen.length > 0 && <Outcome>{chosen.join(', ')}</Outcome>}
    </FormDialog>
  )
}
