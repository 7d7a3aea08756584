import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Badge } from '../../parts/badge.tsx'
import { Id } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Aside, Button, Empty, Facts, Filters, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { plural } from '../../text/format.ts'
import { shellWord } from '../../text/shell-word.ts'
import { deviceHref } from '../../url/device-href.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { AddDevices } from './add-devices.tsx'
import type { Group } from './types.ts'

type Member = AnswerOf<'/api/v1/device-groups/{group_id}/devices'>['devices'][number]

const DEFAULTS = { page: 1 }

const columns = (onRemove: (member: Member) => void): readonly Column<Member>[] => [
  {
    name: 'Device',
    cell: ({ device_identifier: name, org_id }) => <Link href={deviceHref(name, org_id)}>{name}</Link>,
  },
  { name: 'Status', cell: ({ status }) => <Badge state={status === 'active' ? 'active' : 'silent'} /> },
  { name: 'Platform', cell: ({ platform }) => platform },
  { name: 'Last heard', number: true, cell: ({ last_seen_at }) => <Ago time={last_seen_at} /> },
  { name: 'Added', number: true, cell: ({ added_at }) => <Ago time={added_at} /> },
  {
    name: 'Actions',
    number: true,
    cell: (member) => (
      <Button aria-label={`Remove ${member.device_identifier}`} onClick={() => onRemove(member)}>
        Remove
      </Button>
    ),
  },
]

const Remove = ({ group, member, onClose }: { group: Group; member: Member; onClose: () => void }) => (
  <Confirm
    title={`Remove ${member.device_identifier} from ${group.name}?`}
    verb="Remove"
    onClose={onClose}
    act={() =>
      write(
        api.DELETE('/api/v1/device-groups/{group_id}/devices', {
          params: { path: { group_id: group.id } },
          body: { device_ids: [member.device_identifier] },
        }),
      )
    }
  >
    The device stays registered. What it got through rollouts to this group, it loses with its next heartbeat.
  </Confirm>
)

const Members = ({ group }: { readonly group: Group }) => {
  const [{ page }, change] = usePageState(DEFAULTS)
  const [removing, setRemoving] = useState<Member | null>(null)
  const query = useApi('/api/v1/device-groups/{group_id}/devices', {
    path: { group_id: group.id },
    query: { limit: PAGE, offset: (page - 1) * PAGE },
  })
  const total = query.data?.total ?? 0
  return (
    <>
      {total > PAGE && (
        <Filters>
          <Pager page={page} total={total} onChange={(next) => change({ page: next })} />
        </Filters>
      )}
      <Panel title="Members" aside={plural(total, 'device')} flush>
        <Loaded query={query}>
          {({ devices }) =>
            devices.length === 0 ? (
              <Empty title="No device is in this group" command={`svc groups add ${shellWord(group.name)} pixel-7`}>
                Add devices here, or with:
              </Empty>
            ) : (
              <Table label="Members" columns={columns(setRemoving)} rows={devices} rowKey={({ id }) => id} />
            )
          }
        </Loaded>
      </Panel>
      {removing && <Remove group={group} member={removing} onClose={() => setRemoving(null)} />}
    </>
  )
}

export const GroupPage = ({ groupId }: { readonly groupId: string }) => {
  const [, navigate] = useLocation()
  const query = useApi('/api/v1/device-groups/{group_id}', { path: { group_id: groupId } })
  const [dialog, setDialog] = useState<'add' | 'delete' | null>(null)
  const close = (): void => setDialog(null)
  const group = query.data
  return (
    <>
      <PageHeader title={group?.name ?? 'Group'} up={{ href: '/delivery/groups', label: 'Groups' }}>
        <Aside>
          {group && (
            <>
              <Button tone="primary" onClick={() => setDialog('add')}>
                Add devices
              </Button>
              <Button tone="danger" onClick={() => setDialog('delete')}>
                Delete
              </Button>
            </>
          )}
        </Aside>
      </PageHeader>
      <Loaded query={query}>
        {(loaded) => (
          <>
            <Members group={loaded} />
            <Panel title="Group">
              <Facts
                entries={[
                  ['Organization', loaded.org_id],
                  ['Description', loaded.description === '' ? 'none' : loaded.description],
                  ['Tags', loaded.tags.length === 0 ? 'none' : loaded.tags.join(', ')],
                  ['Created', <Ago key="created" time={loaded.created_at} />],
                  ['Group id', <Id key="id" id={loaded.id} />],
                ]}
              />
            </Panel>
          </>
        )}
      </Loaded>
      {group && dialog === 'add' && <AddDevices group={group} onClose={close} />}
      {group && dialog === 'delete' && (
        <Confirm
          title={`Delete ${group.name}?`}
          verb="Delete"
          name={group.name}
          onClose={close}
          act={async () => {
            const params = { path: { group_id: group.id } }
            await write(api.DELETE('/api/v1/device-groups/{group_id}', { params }), () => navigate('/delivery/groups'))
          }}
        >
          {`Its ${plural(group.device_count, 'device')} stay registered. Rollouts and policies that aim at the group reach nobody through it any more.`}
        </Confirm>
      )}
    </>
  )
}
