import { Link } from 'wouter'
import { api, write } from '../../api/client.ts'
import { useOwnOrg } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { TextField, useFields } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage, pageQuery } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { ConditionsField, conditionsIn } from './conditions-field.tsx'
import type { Group } from './delivery-records.ts'

/** The organization of groups that a key without an organization creates; also that of devices without one. */
const STANDARD_ORG = 'default'
const DEFAULTS = { org: STANDARD_ORG, page: 1 }

const COLUMNS: readonly Column<Group>[] = [
  { name: 'Group', cell: ({ id, name }) => <Link href={`/delivery/groups/${id}`}>{name}</Link> },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Tags', cell: ({ tags }) => tags.join(', ') },
  { name: 'Devices', number: true, cell: ({ device_count }) => count(device_count) },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const CreateGroup = ({ org }: { readonly org: string }) => {
  const [{ filter, ...values }, field] = useFields({ name: '', description: '', filter: '' })
  return (
    <FormDialog
      title="Create a group"
      verb="Create"
      act={async () => {
        const body = { org_id: org, ...values, ...(filter !== '' && { filter: conditionsIn(filter) }) }
        await write(api.POST('/api/v1/device-groups', { body }))
      }}
    >
      <TextField label="Name" required maxLength={255} {...field('name')} />
      <TextField label="Description" maxLength={1000} {...field('description')} />
      <ConditionsField {...field('filter')} />
    </FormDialog>
  )
}

/** Named sets of devices that rollouts, deployments, and policies can target. */
export const GroupsPage = () => {
  const [state, change] = usePageState(DEFAULTS)
  const own = useOwnOrg()
  const org = own ?? state.org
  return (
    <ListPage
      title="Groups"
      noun="group"
      query={useApi(
        '/api/v1/device-groups',
        { query: { org_id: org, ...pageQuery(state.page) } },
        { enabled: org !== '' },
      )}
      actions={
        <DialogButton needs="devices:write" tone="primary" dialog={<CreateGroup org={org} />}>
          Create group
        </DialogButton>
      }
      filters={
        own === null && (
          <TextField label="Organization" value={state.org} onChange={(typed) => change({ org: typed, page: 1 })} />
        )
      }
      page={state.page}
      onPage={(page) => change({ page })}
      columns={COLUMNS}
      rows={({ groups }) => groups}
      rowKey="id"
      empty={
        <Empty title="No groups yet" command="svc groups create canaries">
          A rollout or a policy can target a group of devices. Create one here, or with:
        </Empty>
      }
    />
  )
}
