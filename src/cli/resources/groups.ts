import type { ActionOption, Argument, Column, Resource } from './resource.ts'

export const groupArgument: Argument = { name: 'group', help: 'a device group, by name or id', find: 'group' }
const members: Argument = { name: 'devices', help: 'device ids', field: 'device_ids', many: true }

const COLUMNS: readonly Column[] = [
  ['NAME', 'name'],
  ['DEVICES', 'device_count', 'count'],
  ['TAGS', 'tags', 'names'],
  ['DESCRIPTION', 'description'],
  ['CREATED', 'created_at', 'time'],
  ['ID', 'id', 'id'],
]

const fields: readonly ActionOption[] = [
  { flags: '--description <text>', help: 'what it is for', field: 'description' },
  { flags: '--tag <tag>', help: 'a tag; repeatable', field: 'tags', parse: 'each' },
]

export const groups: Resource = {
  name: 'groups',
  summary: 'make device groups and say who is in them',
  actions: [
    {
      name: 'list',
      summary: 'list device groups',
      request: 'GET /api/v1/device-groups',
      org: 'query',
      rows: 'groups',
      columns: COLUMNS,
      none: 'No groups. Make one with: svc groups create <name>',
    },
    {
      name: 'show',
      summary: 'show a group',
      request: 'GET /api/v1/device-groups/{group_id}',
      args: [groupArgument],
    },
    {
      name: 'devices',
      summary: 'list the devices of a group',
      request: 'GET /api/v1/device-groups/{group_id}/devices',
      args: [groupArgument],
      rows: 'devices',
      columns: [
        ['DEVICE', 'device_identifier'],
        ['STATUS', 'status'],
        ['LAST HEARTBEAT', 'last_seen_at', 'ago'],
        ['PLATFORM', 'platform'],
        ['ADDED', 'added_at', 'time'],
        ['BY', 'added_by'],
      ],
      none: 'No devices. Add some with: svc groups add <group> <devices...>',
    },
    {
      name: 'create',
      summary: 'make a group',
      request: 'POST /api/v1/device-groups',
      org: 'body',
      args: [{ name: 'name', help: 'unique in the organization', field: 'name' }],
      options: [...fields, { flags: '--type <type>', help: 'kind of group (default: static)', field: 'group_type' }],
      done: 'Made group {name} ({id}).',
      hint: 'Add devices with: svc groups add {name} <devices...>',
    },
    {
      name: 'update',
      summary: "change a group's name, description or tags",
      request: 'PUT /api/v1/device-groups/{group_id}',
      args: [groupArgument],
      options: [{ flags: '--name <name>', help: 'another name', field: 'name' }, ...fields],
      done: 'Changed group {name} ({id}).',
    },
    {
      name: 'add',
      summary: 'add devices to a group',
      request: 'POST /api/v1/device-groups/{group_id}/devices',
      args: [groupArgument, members],
      options: [{ flags: '--added-by <label>', help: 'kept with the members', field: 'added_by' }],
      done: 'Added {added}.',
    },
    {
      name: 'remove',
      summary: 'remove devices from a group',
      request: 'DELETE /api/v1/device-groups/{group_id}/devices',
      args: [groupArgument, members],
      done: 'Removed {removed}.',
    },
    {
      name: 'delete',
      summary: 'delete a group; its devices stay',
      request: 'DELETE /api/v1/device-groups/{group_id}',
      args: [groupArgument],
      confirm: 'Deleting the group {group}',
      done: 'Deleted group {group_id}.',
    },
  ],
}
