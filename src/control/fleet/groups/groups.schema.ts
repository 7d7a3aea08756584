import { Type } from 'typebox'
import { Count, Envelope, Nullable, Page, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { DeviceList } from '../devices/devices.schema.ts'

const MOST_AT_ONCE = 1000

const OrgId = Type.String({ minLength: 1, maxLength: 128 })
const Name = Type.String({ minLength: 1, maxLength: 255, description: 'Unique in the organization' })
const Description = Type.String({ maxLength: 1000 })
const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 })
const DeviceIds = Type.Array(Type.String(), { maxItems: MOST_AT_ONCE, description: 'User-chosen ids' })

export const ListGroupsQuery = Type.Object({ org_id: OrgId, ...Page({ max: 1000, default: 100 }) })

export const CreateGroupBody = Type.Object({
  org_id: OrgId,
  name: Name,
  description: Type.Optional(Description),
  group_type: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'static when absent' })),
  tags: Type.Optional(Tags),
})

export const UpdateGroupBody = Type.Object({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  tags: Type.Optional(Tags),
})

export const GroupParams = Type.Object({ group_id: Type.String() })
export const MemberParams = Type.Object({ group_id: Type.String(), device_id: Type.String() })
export const MembersQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const Group = Type.Object({
  id: Uuid,
  org_id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  group_type: Type.String(),
  tags: Type.Array(Type.String()),
  device_count: Count,
  created_at: Timestamp,
})

export const GroupList = Type.Object({ groups: Type.Array(Group), ...Envelope })
export const DeletedGroup = Type.Object({ group_id: Uuid, deleted: Type.Boolean() })

export const MemberList = Type.Object({
  devices: Type.Array(
    Type.Object({
      ...DeviceList.properties.devices.items.properties,
      added_by: Nullable(Type.String({ 'x-extension': true, description: 'The label given when it was added' })),
      added_at: Timestamp,
    }),
  ),
  ...Envelope,
})

export const AddDevicesBody = Type.Object({
  device_ids: DeviceIds,
  added_by: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'A label for audits' })),
})

export const RemoveDevicesBody = Type.Object({ device_ids: DeviceIds })

export const Added = Type.Object({
  group_id: Uuid,
  added: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'In the group already, or no device of its organization' }),
})

export const Removed = Type.Object({
  group_id: Uuid,
  removed: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'Not in the group' }),
})
