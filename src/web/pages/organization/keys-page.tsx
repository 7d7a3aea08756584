import { useMay } from '../../api/session.ts'
import { useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Actions, Ago, Badge, Day, useNow } from '../../parts/cells.tsx'
import { DialogButton } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/form.tsx'
import { Aside, Empty, Filters } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { usePageState } from '../../url/use-page-state.ts'
import { CreateKey } from './create-key.tsx'
import { type Key, RevokeKey, RotateKey } from './key-actions.tsx'
import { OrganizationHeader } from './organization-header.tsx'

const KINDS = [
  ['service', 'Service keys'],
  ['personal', 'Personal keys'],
  ['device', 'Device keys'],
] as const
const DEFAULTS = { kind: 'service' as (typeof KINDS)[number][0] }
const WORDS = { kind: KINDS }

const stateOf = (key: Key, now: Date): string => {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && new Date(key.expires_at) <= now) return 'expired'
  return key.replaced_by === null ? 'active' : 'replaced'
}

const columnsOf = (now: Date): readonly Column<Key>[] => [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Key', cell: ({ prefix }) => <code>{prefix}…</code> },
  { name: 'State', cell: (key) => <Badge state={stateOf(key, now)} /> },
  { name: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  {
    name: 'Expires',
    number: true,
    cell: (key) => {
      const end = key.expires_at === null ? 'never' : <Day time={key.expires_at} />
      return key.exceeds_lifetime && stateOf(key, now) === 'active' ? <>{end} (longer than allowed)</> : end
    },
  },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (key) =>
      key.revoked_at === null && (
        <Actions>
          {key.kind !== 'device' && stateOf(key, now) === 'active' && (
            <DialogButton aria-label={`Rotate ${key.name}`} dialog={<RotateKey apiKey={key} />}>
              Rotate
            </DialogButton>
          )}
          <RevokeKey apiKey={key} />
        </Actions>
      ),
  },
]

export const KeysPage = () => {
  const now = useNow()
  const [{ kind }, change] = usePageState(DEFAULTS, WORDS)
  const seesAll = useMay()('admin')
  const query = useApi('/api/v1/keys', { query: { kind } }, WITHOUT_EVENTS)
  return (
    <>
      <OrganizationHeader>
        <Aside>
          <DialogButton tone="primary" needs="admin" dialog={<CreateKey />}>
            Create service key
          </DialogButton>
        </Aside>
      </OrganizationHeader>
      <Filters>
        <Choice label="Kind" value={kind} options={KINDS} onChange={(next) => change({ kind: next })} />
      </Filters>
      <LoadedTable
        title={seesAll ? 'Keys' : 'Your keys'}
        label="Keys"
        aside={!seesAll && 'only your own; those of others require the scope admin'}
        query={query}
        columns={columnsOf(now)}
        rows={({ keys }) => keys}
        rowKey="id"
        empty={
          <Empty
            title={seesAll ? 'No keys of this kind yet' : 'You have no keys of this kind'}
            command="svc keys create ci --scope models:read"
          >
            Programs use service keys; approving svc login creates a personal key:
          </Empty>
        }
      />
    </>
  )
}
