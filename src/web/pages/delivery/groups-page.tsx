import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, TextField } from '../../parts/form.tsx'
import { Aside, Button, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, plural } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import type { Group } from './types.ts'

/** Where a key of no organization makes groups: the one that every device without another belongs to. */
const STANDARD_ORG = 'default'
const DEFAULTS = { org: STANDARD_ORG, page: 1 }

const COLUMNS: readonly Column<Group>[] = [
  { name: 'Group', cell: ({ id, name }) => <Link href={`/delivery/groups/${id}`}>{name}</Link> },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Tags', cell: ({ tags }) => tags.join(', ') },
  { name: 'Devices', number: true, cell: ({ device_count }) => count(device_count) },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const CreateGroup = ({ org, onClose }: { readonly org: string; readonly onClose: () => void }) => {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  return (
    <Dialog title="Create a group" open onClose={onClose}>
      <SendForm
        verb="Create"
        tone="primary"
        onClose={onClose}
        act={() => write(api.POST('/api/v1/device-groups', { body: { org_id: org, name, description } }))}
      >
        <Fields>
          <TextField
            label="Name"
            required
            maxLength={255}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <TextField
            label="Description"
            maxLength={1000}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </Fields>
      </SendForm>
    </Dialog>
  )
}

/** Named sets of devices, for rollouts, deployments and policies to aim at. */
export const GroupsPage = () => {
  const session = useSession()
  const [state, change] = usePageState(DEFAULTS)
  const [creating, setCreating] = useState(false)
  const own = session.data?.org_id ?? null
  const org = own ?? state.org
  const query = useApi(
    '/api/v1/device-groups',
    { query: { org_id: org, limit: PAGE, offset: (state.page - 1) * PAGE } },
    { enabled: org !== '' },
  )
  return (
    <>
      <PageHeader title="Groups">
        <Aside>
          <Quiet>{query.data && plural(query.data.total, 'group')}</Quiet>
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create group
          </Button>
        </Aside>
      </PageHeader>
      <Filters>
        {own === null && (
          <TextField
            label="Organization"
            value={state.org}
            onChange={(event) => change({ org: event.target.value, page: 1 })}
          />
        )}
        <Pager page={state.page} total={query.data?.total ?? 0} onChange={(page) => change({ page })} />
      </Filters>
      <Loaded query={query}>
        {({ groups }) => (
          <Panel title="All groups" flush>
            {groups.length === 0 ? (
              <Empty title="No group yet" command="svc groups create canaries">
                A rollout or a policy can be aimed at a group of devices. Create one here, or with:
              </Empty>
            ) : (
              <Table label="Groups" columns={COLUMNS} rows={groups} rowKey={({ id }) => id} />
            )}
          </Panel>
        )}
      </Loaded>
      {creating && <CreateGroup org={org} onClose={() => setCreating(false)} />}
    </>
  )
}
