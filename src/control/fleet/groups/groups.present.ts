import { statusAt } from '../../../domain/device.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import type { CreateGroupBody } from './groups.schema.ts'
import type { GroupsService, StoredGroup } from './groups.service.ts'

export const newGroupOf = ({ org_id, name, description, group_type, tags }: Static<typeof CreateGroupBody>) => ({
  name,
  orgId: org_id,
  description: description ?? '',
  groupType: group_type ?? ('static' as const),
  tags: tags ?? [],
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
  created_at: group.createdAt.toISOString(),
})

type Member = Awaited<ReturnType<GroupsService['members']>>['devices'][number]

export const presentMember = (device: Member, group: StoredGroup, at: Date) => ({
  id: device.id,
  device_identifier: device.deviceId,
  org_id: device.orgId ?? group.orgId,
  platform: device.platform,
  status: statusAt(device, at),
  last_seen_at: device.lastHeartbeat.toISOString(),
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
