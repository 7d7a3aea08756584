import { Type } from 'typebox'
import {
  type DeviceCondition,
  type DeviceFilter,
  FILTER_OPS,
  MAX_CONDITIONS,
  MAX_TEXT,
} from '../../../domain/device-filter.ts'
import {
  Body,
  Count,
  DOCUMENTED_AS,
  Envelope,
  Line,
  Nullable,
  OneOf,
  OrgId,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { DeviceId, DeviceList, OrgIdQuery } from '../devices/devices.schema.ts'
import { examples } from '../fleet.examples.ts'

const MAX_BATCH = 1000
const SCALARS = [{ type: 'string', maxLength: MAX_TEXT }, { type: 'number' }, { type: 'boolean' }]

const Name = Line(255, 'Unique in the organization')
const Description = Type.String({ maxLength: 1000, description: 'Free text' })
const Tags = Type.Array(Line(100, 'A label'), {
  maxItems: 100,
  description: 'Labels to search by',
})
const Condition = Part('DeviceCondition', 'A condition on one attribute of a device', {
  field: Type.String({
    minLength: 1,
    maxLength: MAX_TEXT,
    description:
      'platform, trains, device_id, or capabilities.<key>. Dots separate nested keys; a backslash makes the next character part of a key',
  }),
  op: OneOf(FILTER_OPS, {
    description:
      'lt, lte, gt, and gte compare numbers, prefix compares text; values of different types are never equal. A missing value meets only ne and exists: false',
  }),
  value: Type.Unsafe<DeviceCondition['value']>({
    [DOCUMENTED_AS]: {
      description: 'Text, a number, true, or false; a list of these for in; true or false for exists',
      anyOf: [...SCALARS, { type: 'array', minItems: 1, maxItems: 100, items: { anyOf: SCALARS } }],
    },
  }),
})
const Filter = Type.Array(Condition, {
  minItems: 1,
  maxItems: MAX_CONDITIONS,
  description:
    'Makes the group dynamic: its members are always the devices of the organization that meet all conditions. No device is added or removed by hand',
})

/** `readFilter` validates it, with messages that name the field of the condition. */
const RequestedFilter = Type.Unsafe<DeviceFilter | null>({ [DOCUMENTED_AS]: Nullable(Filter) })

const DeviceIds = Type.Array(Type.String(), { maxItems: MAX_BATCH, description: 'User-chosen ids' })

export const ListGroupsQuery = Type.Object({ org_id: OrgIdQuery, ...Page({ max: 1000, default: 100 }) })

export const CreateGroupBody = Body('NewGroup', 'A device group to create', examples.newGroup, {
  org_id: OrgId('Id of an organization'),
  name: Name,
  description: Type.Optional(Description),
  group_type: Type.Optional(Line(64, 'A label of your own, without effect; default: static, or dynamic with a filter')),
  tags: Type.Optional(Tags),
  filter: Type.Optional(RequestedFilter),
})

export const UpdateGroupBody = Body(
  'GroupChanges',
  'Changes to a device group; omitted fields stay as they are',
  examples.groupChanges,
  {
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    tags: Type.Optional(Tags),
    filter: Type.Optional(RequestedFilter),
  },
)

const GroupId = Parameter('GroupId', Type.String({ description: 'Id of a device group' }))

export const GroupParams = Type.Object({ group_id: GroupId })
export const MemberParams = Type.Object({ group_id: GroupId, device_id: DeviceId })
export const MembersQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const Group = Body('Group', 'A device group', examples.group, {
  id: Uuid,
  org_id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  group_type: Type.String(),
  tags: Type.Array(Type.String()),
  device_count: Count,
  filter: Nullable(Filter),
  created_at: Timestamp,
})

export const GroupList = Body('GroupList', 'A page of device groups', examples.groupList, {
  groups: Type.Array(Group),
  ...Envelope,
})
export const DeviceGroups = Body('DeviceGroups', 'The groups that a device is in', examples.deviceGroups, {
  device_id: Type.String(),
  groups: Type.Array(Group),
})
export const DeletedGroup = Body('DeletedGroup', 'A deleted device group', examples.deletedGroup, {
  group_id: Uuid,
  deleted: Type.Boolean(),
})

export const MemberList = Body('GroupDeviceList', 'A page of the devices in a group', examples.groupDeviceList, {
  devices: Type.Array(
    Part('GroupDevice', 'A device in a group', {
      ...DeviceList.properties.devices.items.properties,
      added_by: Nullable(Type.String({ description: 'The label given when it was added' })),
      added_at: Timestamp,
    }),
  ),
  ...Envelope,
})

export const AddDevicesBody = Body('DevicesToAdd', 'Devices to add to a group', examples.devicesToAdd, {
  device_ids: DeviceIds,
  added_by: Type.Optional(Line(255, 'A label for audits')),
})

export const RemoveDevicesBody = Body('DevicesToRemove', 'Devices to remove from a group', examples.devicesToRemove, {
  device_ids: DeviceIds,
})

export const Added = Body('AddedDevices', 'Which devices were added to a group', examples.addedDevices, {
  group_id: Uuid,
  added: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'Already in the group, or not a device of its organization' }),
})

export const Removed = Body('RemovedDevices', 'Which devices were removed from a group', examples.removedDevices, {
  group_id: Uuid,
  removed: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'Not in the group' }),
})
