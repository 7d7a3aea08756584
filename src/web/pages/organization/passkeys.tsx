import { useState } from 'react'
import { api, write, writeWithoutBody } from '../../api/client.ts'
import { changeFactors } from '../../api/confirmation.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Actions, Ago } from '../../parts/cells.tsx'
import { Confirm, ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Loaded, Panel } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { PasskeySetup } from '../../shell/passkey-setup.tsx'

type Passkey = ResponseOf<'/api/v1/account/passkeys'>['passkeys'][number]

const at = ({ id }: Passkey) => ({ params: { path: { passkey_id: id } } })

const Rename = ({ passkey }: { readonly passkey: Passkey }) => {
  const [name, setName] = useState(passkey.name)
  return (
    <Confirm
      title={`Rename ${passkey.name}`}
      verb="Rename"
      tone="primary"
      act={() =>
        changeFactors(() =>
          write(api.PATCH('/api/v1/account/passkeys/{passkey_id}', { ...at(passkey), body: { name } })),
        )
      }
    >
      <TextField label="Name" name="name" required maxLength={100} value={name} onChange={setName} />
    </Confirm>
  )
}

const Remove = ({ passkey }: { readonly passkey: Passkey }) => (
  <ConfirmButton
    button={{ 'aria-label': `Remove ${passkey.name}` }}
    title={`Remove ${passkey.name}`}
    verb="Remove"
    act={() => changeFactors(() => writeWithoutBody(api.DELETE('/api/v1/account/passkeys/{passkey_id}', at(passkey))))}
  >
    It no longer signs you in here. Your device may still list it: remove it there, too.
  </ConfirmButton>
)

const COLUMNS: readonly Column<Passkey>[] = [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Added', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (passkey) => (
      <Actions>
        <DialogButton aria-label={`Rename ${passkey.name}`} dialog={<Rename passkey={passkey} />}>
          Rename
        </DialogButton>
        <Remove passkey={passkey} />
      </Actions>
    ),
  },
]

/** The signed-in person's passkeys. Calls `onDone` when the second factors have changed. */
export const Passkeys = ({ onDone }: { readonly onDone: () => void }) => {
  const query = useApi('/api/v1/account/passkeys', {}, WITHOUT_EVENTS)
  const refresh = (): void => {
    void query.refetch()
    onDone()
  }
  return (
    <Loaded query={query}>
      {({ passkeys }) => (
        <Panel title="Passkeys">
          <p>A passkey signs you in without a password and counts as both factors.</p>
          {passkeys.length > 0 && <Table label="Passkeys" columns={COLUMNS} rows={passkeys} rowKey="id" />}
          <PasskeySetup onDone={refresh} />
        </Panel>
      )}
    </Loaded>
  )
}
