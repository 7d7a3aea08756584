import { useState } from 'react'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Aside, Button, Choice, Empty, Filters, Loaded, Panel } from '../../parts/layout.tsx'
import { Ago, useNow } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { usePageState } from '../../url/use-page-state.ts'
import { CreateKey } from './create-key.tsx'
import { type Key, RevokeKey, RotateKey } from './key-actions.tsx'
import { OrganizationHeader } from './organization-header.tsx'
import { ShownOnce } from './shown-once.tsx'

const KINDS = [
  ['service', 'Service keys'],
  ['personal', 'Personal keys'],
  ['device', 'Keys of devices'],
] as const
type Kind = (typeof KINDS)[number][0]
const DEFAULTS: { readonly kind: string } = { kind: 'service' }

const stateOf = (key: Key, now: Date): string => {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && new Date(key.expires_at) <= now) return 'expired'
  return key.replaced_by === null ? 'active' : 'replaced'
}

const columnsOf = (now: Date, onRotate: (key: Key) => void, onRevoke: (key: Key) => void): readonly Column<Key>[] => [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Key', cell: ({ prefix }) => <code>{prefix}…</code> },
  { name: 'State', cell: (key) => <Badge state={stateOf(key, now)} /> },
  { name: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  {
    name: 'Expires',
    number: true,
    cell: (key) => {
      const end = key.expires_at?.slice(0, 10) ?? 'never'
      return key.exceeds_lifetime && stateOf(key, now) === 'active' ? `${end} (longer than allowed)` : end
    },
  },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (key) =>
      ['active', 'replaced'].includes(stateOf(key, now)) && (
        <>
          {key.kind !== 'device' && key.replaced_by === null && (
            <Button aria-label={`Rotate ${key.name}`} onClick={() => onRotate(key)}>
              Rotate
            </Button>
          )}{' '}
          <Button aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
            Revoke
          </Button>
        </>
      ),
  },
]

/** API keys of programs, people and devices. */
export const KeysPage = () => {
  const now = useNow()
  const [page, change] = usePageState(DEFAULTS)
  const kind: Kind = KINDS.find(([each]) => each === page.kind)?.[0] ?? 'service'
  const [creating, setCreating] = useState(false)
  const [rotating, setRotating] = useState<Key | null>(null)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const query = useApi('/api/v1/keys', { query: { kind } })
  return (
    <>
      <OrganizationHeader>
        <Aside>
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create service key
          </Button>
        </Aside>
      </OrganizationHeader>
      <Filters>
        <Choice label="Kind" value={kind} options={KINDS} onChange={(next) => change({ kind: next })} />
      </Filters>
      <Loaded query={query}>
        {({ keys }) => (
          <Panel title="Keys" flush>
            {keys.length === 0 ? (
              <Empty title="No key of this kind yet" command="svc keys create ci --scope models:read">
                Programs have service keys; what a person approves for svc login is their personal key:
              </Empty>
            ) : (
              <Table
                label="Keys"
                columns={columnsOf(now, setRotating, setRevoking)}
                rows={keys}
                rowKey={({ id }) => id}
              />
            )}
          </Panel>
        )}
      </Loaded>
      {creating && <CreateKey onMade={setSecret} onClose={() => setCreating(false)} />}
      {rotating && <RotateKey apiKey={rotating} onMade={setSecret} onClose={() => setRotating(null)} />}
      {revoking && <RevokeKey apiKey={revoking} onClose={() => setRevoking(null)} />}
      {secret !== null && (
        <ShownOnce title="The new key" what="key" text={secret} onClose={() => setSecret(null)}>
          Save it now: it is shown only here.
        </ShownOnce>
      )}
    </>
  )
}
