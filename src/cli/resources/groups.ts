import { conditionText } from '../../domain/condition-text.ts'
import type { DeviceFilter } from '../../domain/device-filter.ts'
import { plural } from '../../domain/plural.ts'
import { shellWord } from '../../domain/shell-word.ts'
import { wrongUsage } from '../failure.ts'
import {
  type ActionOption,
  action,
  argument,
  type Column,
  ofSeveral,
  option,
  type Resource,
  type Row,
} from './resource.ts'
import { whereOption } from './where.ts'

const groupArgument = argument('group', 'a device group, by name or id', { find: 'group' })
const members = argument('devices', 'device ids', { field: 'device_ids', many: true })

const AT = '/api/v1/device-groups/{group_id}'

/** The service compares all devices of the organization before it responds. */
const FILTER_TIMEOUT_MS = 600_000

/** Its conditions as `--where` takes them. */
const withConditions = ({ filter, ...group }: Row): Row => ({
  ...group,
  filter: (filter as DeviceFilter | null)?.map(conditionText) ?? null,
})

const COLUMNS: readonly Column[] = [
  ['NAME', 'name'],
  ['DEVICES', 'device_count', 'count'],
  ['TYPE', 'group_type'],
  ['TAGS', 'tags', 'names'],
  ['DESCRIPTION', 'description'],
  ['CREATED', 'created_at', 'time'],
  ['ID', 'id', 'id'],
]

const fields: readonly ActionOption[] = [
  option('--description <text>', 'description', 'description'),
  option('--tag <tag>', 'tag; repeatable', 'tags', 'each'),
]

export const groups: Resource = {
  name: 'groups',
  summary: 'create device groups and change their devices',
  actions: [
    action('list', 'list device groups', 'GET /api/v1/device-groups', {
      org: 'query',
      rows: 'groups',
      columns: COLUMNS,
      none: 'No groups. Create one with: svc groups create <name>',
    }),
    action('show', 'show a group', `GET ${AT}`, { args: [groupArgument], shown: withConditions }),
    action('devices', 'list the devices of a group', `GET ${AT}/devices`, {
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
      none: 'No devices. Add some with: svc groups add <group> <devices...>, or see what matches with: svc groups show <group>',
    }),
    action('create', 'create a group', 'POST /api/v1/device-groups', {
      org: 'body',
      args: [argument('name', 'unique in the organization', { field: 'name' })],
      options: [
        ...fields,
        whereOption('make it dynamic, with all devices that meet this condition', 'body'),
        option('--type <type>', 'label of your own, without effect (default: static)', 'group_type'),
      ],
      timeoutMs: FILTER_TIMEOUT_MS,
      done: 'Created group {name} ({id}).',
      notes: async ({ name, filter, device_count }) => [
        filter === null
          ? `Add devices with: svc groups add ${shellWord(String(name))} <devices...>`
          : `${plural(Number(device_count), 'matching device')} now; devices that match later are added.`,
      ],
    }),
    action('update', "change a group's name, description, tags, or conditions", `PUT ${AT}`, {
      args: [groupArgument],
      options: [
        option('--name <name>', 'new name', 'name'),
        ...fields,
        whereOption('new condition, which replaces all earlier ones', 'body'),
        option('--static', 'remove the conditions; the group keeps its devices', 'filter', {
          parse: 'flag',
          conflicts: 'where',
        }),
      ],
      body: async (changes) => {
        if (Object.keys(changes).length === 0)
          throw wrongUsage('Give --name, --description, --tag, --where, or --static.')
        return changes.filter === true ? { filter: null } : {}
      },
      timeoutMs: FILTER_TIMEOUT_MS,
      done: 'Changed group {name} ({id}).',
    }),
    action('add', 'add devices to a group', `POST ${AT}/devices`, {
      args: [groupArgument, members],
      options: [option('--added-by <label>', 'label stored with the members', 'added_by')],
      done: 'Added {added}.',
      ...ofSeveral('added', 'No device was added', 'already in the group, or not a device of its organization'),
    }),
    action('remove', 'remove devices from a group', `DELETE ${AT}/devices`, {
      args: [groupArgument, members],
      done: 'Removed {removed}.',
      ...ofSeveral('removed', 'No device was removed', 'not in the group'),
    }),
    action('delete', 'delete a group; its devices stay', `DELETE ${AT}`, {
      args: [groupArgument],
      confirm: 'Deleting the group {group} (its devices lose the versions that its rollouts and experiments assigned)',
      done: 'Deleted group {group_id}.',
    }),
  ],
}
