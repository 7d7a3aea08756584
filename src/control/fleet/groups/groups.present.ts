import { readFilter } from '../../../domain/device-filter.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { presentListed } from '../devices/devices.present.ts'
import type { CreateGroupBody } from './groups.schema.ts'
import type { GroupMember, GroupsService, StoredGroup } from './groups.service.ts'

export const newGroupOf = ({
  org_id,
  name,
  description,
  group_type,
  tags,
  filter,
}: Static<typeof CreateGroupBody>) => ({
  name,
  orgId: org_id,
  description: description ?? '',
  groupType: group_type,
  tags: tags ?? [],
  filter: filter ? readFilter(filter) : null,
})

/** Returns a group with the API's field names. */
export const present = (group: StoredGroup) => ({
  id: group.id,
  org_id: group.orgId,
  name: group.name,
  description: group.description,
  group_type: group.groupType,
  tags: [...group.tags],
  device_count: group.deviceCount,
  filter: group.filter === null ? null : group.filter.map((condition) => ({ ...condition })),
  created_at: group.createdAt.toISOString(),
})

export const presentMember = (device: GroupMember, group: StoredGroup, at: Date) => ({
  ...presentListed(device, group.orgId, at),
  added_by: device.addedBy,
  added_at: device.addedAt.toISOString(),
})

type Outcome = Awaited<ReturnType<GroupsService['add']>>

export const presentAdded = ({ group, changed, skipped }: Outcome) => ({ group_id: group.id, added: changed, skipped })
export const presentRemoved = ({ group, changed, skipped }: Outcome) => ({
  group_id: group.id,
  removed: changed,
  skipped,
})
