import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { api } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Badge } from '../../parts/badge.tsx'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, TextField } from '../../parts/form.tsx'
import { Aside, Button, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, plural } from '../../text/format.ts'
import { shellWord } from '../../text/shell-word.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { type Federation, OTHERS } from './types.ts'

const DEFAULTS = { page: 1 }

const COLUMNS: readonly Column<Federation>[] = [
  { name: 'Federation', cell: ({ id, name }) => <Link href={`/federations/${id}`}>{name}</Link> },
  { name: 'Owner', cell: ({ org_id }) => org_id },
  {
    name: 'Your part',
    cell: ({ membership }) =>
      membership === null ? (
        ''
      ) : (
        <Badge
          state={membership.status === 'invited' ? 'invited' : membership.role}
          tone={membership.status === 'invited' ? 'warn' : 'good'}
        />
      ),
  },
  { name: 'Members', number: true, cell: ({ member_count }) => count(member_count) },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const CreateFederation = ({ own, onClose }: { readonly own: string | null; readonly onClose: () => void }) => {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [org, setOrg] = useState(own ?? '')
  const [description, setDescription] = useState('')
  return (
    <Dialog title="Create a federation" open onClose={onClose}>
      <SendForm
        verb="Create"
        tone="primary"
        onClose={onClose}
        act={async () => {
          const { id } = await write(api.POST('/api/v1/federations', { body: { name, org_id: org, description } }))
          navigate(`/federations/${id}`)
        }}
      >
        <Fields>
          <TextField
            label="Name"
            required
            maxLength={128}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          {own === null && (
            <TextField
              label="Owner"
              hint="The organization that invites others and sets the privacy budget"
              required
              maxLength={128}
              value={org}
              onChange={(event) => setOrg(event.target.value)}
            />
          )}
          <TextField
            label="Description"
            maxLength={512}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </Fields>
      </SendForm>
    </Dialog>
  )
}

/** Organizations that train together. */
export const FederationsPage = () => {
  const session = useSession()
  const own = session.data?.org_id ?? null
  const [{ page }, change] = usePageState(DEFAULTS)
  const [creating, setCreating] = useState(false)
  const query = useApi('/api/v1/federations', { query: { limit: PAGE, offset: (page - 1) * PAGE } }, OTHERS)
  return (
    <>
      <PageHeader title="Federations">
        <Aside>
          <Quiet>{query.data && plural(query.data.total, 'federation')}</Quiet>
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create federation
          </Button>
        </Aside>
      </PageHeader>
      <Filters>
        <Pager page={page} total={query.data?.total ?? 0} onChange={(next) => change({ page: next })} />
      </Filters>
      <Loaded query={query}>
        {({ federations }) => (
          <Panel title="All federations" flush>
            {federations.length === 0 ? (
              <Empty
                title="No federation yet"
                command={`svc federation create my-federation --org ${shellWord(own ?? 'my-org')}`}
              >
                Members of a federation train together, share models, and spend one privacy budget. Create one here, or
                with:
              </Empty>
            ) : (
              <Table label="Federations" columns={COLUMNS} rows={federations} rowKey={({ id }) => id} />
            )}
          </Panel>
        )}
      </Loaded>
      {creating && <CreateFederation own={own} onClose={() => setCreating(false)} />}
    </>
  )
}
