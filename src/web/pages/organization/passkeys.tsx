import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { write, writeWithoutAnswer } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Button, Loaded, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { PasskeySetup } from '../../shell/passkey-setup.tsx'

type Passkey = AnswerOf<'/api/v1/account/passkeys'>['passkeys'][number]

const at = ({ id }: Passkey) => ({ params: { path: { passkey_id: id } } })

const Rename = ({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) => {
  const [name, setName] = useState(passkey.name)
  return (
    <Confirm
      title={`Rename ${passkey.name}`}
      verb="Rename"
      tone="primary"
      act={() => write(api.PATCH('/api/v1/account/passkeys/{passkey_id}', { ...at(passkey), body: { name } }))}
      onClose={onClose}
    >
      <TextField label="Name" required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
    </Confirm>
  )
}

const columnsOf = (onRename: (row: Passkey) => void, onRemove: (row: Passkey) => void): readonly Column<Passkey>[] => [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Added', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (passkey) => (
      <>
        <Button aria-label={`Rename ${passkey.name}`} onClick={() => onRename(passkey)}>
          Rename
        </Button>{' '}
        <Button aria-label={`Remove ${passkey.name}`} onClick={() => onRemove(passkey)}>
          Remove
        </Button>
      </>
    ),
  },
]

/** The passkeys of who is signed in; `onDone` when their second factors are others. */
export const Passkeys = ({ onDone }: { readonly onDone: () => void }) => {
  const query = useApi('/api/v1/account/passkeys', {})
  const [renaming, setRenaming] = useState<Passkey | null>(null)
  const [removing, setRemoving] = useState<Passkey | null>(null)
  const refresh = (): void => {
    void query.refetch()
    onDone()
  }
  return (
    <Loaded query={query}>
      {({ passkeys }) => (
        <Panel title="Passkeys">
          <p>A passkey signs you in without a password, and is both factors.</p>
          {passkeys.length > 0 && (
            <Table
              label="Passkeys"
              columns={columnsOf(setRenaming, setRemoving)}
              rows={passkeys}
              rowKey={({ id }) => id}
            />
          )}
          <PasskeySetup onDone={refresh} />
          {renaming && <Rename passkey={renaming} onClose={() => setRenaming(null)} />}
          {removing && (
            <Confirm
              title={`Remove ${removing.name}`}
              verb="Remove"
              act={() => writeWithoutAnswer(api.DELETE('/api/v1/account/passkeys/{passkey_id}', at(removing)))}
              onClose={() => setRemoving(null)}
            >
              It opens nothing here any more. Your device may still list it: remove it there, too.
            </Confirm>
          )}
        </Panel>
      )}
    </Loaded>
  )
}
