import { Fragment } from 'react'
import { Link, useLocation } from 'wouter'
import { conditionText } from '../../../domain/condition-text.ts'
import { shellWord } from '../../../domain/shell-word.ts'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago, Badge, Id } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { ConfirmButton, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { useFields } from '../../parts/form.tsx'
import { Empty, Facts, Filters, Panel } from '../../parts/layout.tsx'
import { LoadedTable, Pager, pageQuery, usePager } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { plural } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import { AddDevices } from './add-devices.tsx'
import { ConditionsField, conditionsIn } from './conditions-field.tsx'
import type { Group } from './delivery-records.ts'

type Member = ResponseOf<'/api/v1/device-groups/{group_id}/devices'>['devices'][number]

const at = ({ id }: Group) => ({ params: { path: { group_id: id } } })

const Remove = ({ group, member }: { readonly group: Group; readonly member: Member }) => (
  <ConfirmButton
    button={{ needs: 'devices:write', 'aria-label': `Remove ${member.device_identifier}` }}
    title={`Remove ${member.device_identifier} from ${group.name}?`}
    verb="Remove"
    act={() => {
      const body = { device_ids: [member.device_identifier] }
      return write(api.DELETE('/api/v1/device-groups/{group_id}/devices', { ...at(group), body }))
    }}
  >
    The device stays registered. With its next heartbeat, it loses the versions that it received through rollouts to
    this group.
  </ConfirmButton>
)

/** All must hold. */
const Conditions = ({ filter }: { readonly filter: NonNullable<Group['filter']> }) => (
  <>
    {'All with '}
    {filter.map((condition, at) => (
      <Fragment key={conditionText(condition)}>
        {at > 0 && ' and '}
        <code>{conditionText(condition)}</code>
      </Fragment>
    ))}
  </>
)

const ChangeConditions = ({
  group,
  filter,
}: {
  readonly group: Group
  readonly filter: NonNullable<Group['filter']>
}) => {
  const [values, field] = useFields({ filter: filter.map(conditionText).join(' and ') })
  return (
    <FormDialog
      title={`Change the conditions of ${group.name}`}
      verb="Change"
      act={async () => {
        const body = { filter: conditionsIn(values.filter) }
        await write(api.PUT('/api/v1/device-groups/{group_id}', { ...at(group), body }))
      }}
    >
      <ConditionsField {...field('filter')} required />
    </FormDialog>
  )
}

const columns = (group: Group): readonly Column<Member>[] => [
  {
    name: 'Device',
    cell: ({ device_identifier: name, org_id }) => <Link href={deviceHref(name, org_id)}>{name}</Link>,
  },
  { name: 'Status', cell: ({ status }) => <Badge state={status === 'active' ? 'active' : 'inactive'} /> },
  { name: 'Platform', cell: ({ platform }) => platform },
  { name: 'Last heartbeat', number: true, cell: ({ last_seen_at }) => <Ago time={last_seen_at} /> },
  { name: 'Added', number: true, cell: ({ added_at }) => <Ago time={added_at} /> },
  ...(group.filter === null
    ? [{ name: 'Actions', number: true, cell: (member: Member) => <Remove group={group} member={member} /> }]
    : []),
]

const Members = ({ group }: { readonly group: Group }) => {
  const pager = usePager()
  const query = useApi('/api/v1/device-groups/{group_id}/devices', {
    path: { group_id: group.id },
    query: pageQuery(pager.page),
  })
  const total = query.data?.total ?? 0
  return (
    <>
      <Filters>
        <Pager {...pager} total={total} />
      </Filters>
      <LoadedTable
        title="Members"
        aside={plural(total, 'device')}
        query={query}
        columns={columns(group)}
        rows={({ devices }) => devices}
        rowKey="id"
        empty={
          group.filter === null ? (
            <Empty title="No device is in this group" command={`svc groups add ${shellWord(group.name)} pixel-7`}>
              Add devices here, or with:
            </Empty>
          ) : (
            <Empty
              title="No device matches this group"
              command={`svc groups update ${shellWord(group.name)} --where platform=android`}
            >
              Devices that match later are added automatically. Change the conditions with:
            </Empty>
          )
        }
      />
    </>
  )
}

const Actions = ({ group }: { readonly group: Group }) => {
  const [, navigate] = useLocation()
  return (
    <>
      {group.filter === null ? (
        <DialogButton needs="devices:write" tone="primary" dialog={<AddDevices group={group} />}>
          Add devices
        </DialogButton>
      ) : (
        <DialogButton needs="devices:write" dialog={<ChangeConditions group={group} filter={group.filter} />}>
          Change conditions
        </DialogButton>
      )}
      <ConfirmButton
        button={{ needs: 'devices:write', tone: 'danger' }}
        title={`Delete ${group.name}?`}
        verb="Delete"
        name={group.name}
        act={() => write(api.DELETE('/api/v1/device-groups/{group_id}', at(group)), () => navigate('/delivery/groups'))}
      >
        {`Its ${plural(group.device_count, 'device')} will stay registered, but lose the versions that rollouts and experiments for the group assigned. Policies for it have no canary.`}
      </ConfirmButton>
    </>
  )
}

export const GroupPage = ({ groupId }: { readonly groupId: string }) => (
  <DetailPage
    query={useApi('/api/v1/device-groups/{group_id}', { path: { group_id: groupId } })}
    title={({ name }) => name}
    loading="Group"
    up={['/delivery/groups', 'Groups']}
    actions={(group) => <Actions group={group} />}
  >
    {(group) => (
      <>
        <Members group={group} />
        <Panel title="Group">
          <Facts
            entries={[
              ['Organization', group.org_id],
              ['Description', group.description || 'none'],
              group.filter !== null && ['Devices', <Conditions key="filter" filter={group.filter} />],
              ['Tags', group.tags.join(', ') || 'none'],
              ['Created', <Ago key="created" time={group.created_at} />],
              ['Group id', <Id key="id" id={group.id} />],
            ]}
          />
        </Panel>
      </>
    )}
  </DetailPage>
)
