import { PLATFORMS } from '../../domain/device.ts'
import { entry } from '../command.ts'
import { timeWords } from './cells.ts'
import { action, argument, type Column, option, type Resource, type Row } from './resource.ts'
import { whereOption } from './where.ts'

const deviceArgument = argument('device', 'a device, by its device id', { find: 'device' })

const COLUMNS: readonly Column[] = [
  ['DEVICE', 'device_id'],
  ['STATUS', 'status'],
  ['LAST HEARTBEAT', 'last_heartbeat', 'ago'],
  ['PLATFORM', 'platform'],
  ['TRAINS', (row) => (row.trains === true ? 'yes' : 'no')],
  ['ORGANIZATION', 'org_id'],
]

/** Splits counts of equal time spans into rows. */
const inRows = (counts: unknown, perRow: number): readonly (readonly [at: number, numbers: string])[] => {
  const numbers = counts as readonly number[]
  return Array.from({ length: Math.ceil(numbers.length / perRow) }, (_, row) => {
    const at = row * perRow
    return [at, numbers.slice(at, at + perRow).join(' ')]
  })
}

/** One row per hour, labeled with its start. */
const heartbeatsByHour = ({ device_id, from, slot_seconds, counts }: Row): Row => {
  const seconds = Number(slot_seconds)
  const timeOf = (slot: number): string =>
    timeWords(new Date(Date.parse(String(from)) + slot * seconds * 1000).toISOString())
  return {
    device_id,
    [`heartbeats_in_each_${seconds / 60}_minutes`]: inRows(counts, Math.max(1, 3600 / seconds)).map(
      ([slot, heartbeats]) => ({ from: timeOf(slot), heartbeats }),
    ),
  }
}

const LAST_HEARD_PER_ROW = 10

/** Newest minute first. */
const lastHeardByMinute = ({ last_heard, ...counts }: Row): Row => ({
  ...counts,
  devices_last_heard_in_each_minute: inRows(last_heard, LAST_HEARD_PER_ROW).map(([minute, found]) => ({
    minutes_ago: `${minute} to ${minute + LAST_HEARD_PER_ROW - 1}`,
    devices: found,
  })),
})

export const devices: Resource = {
  name: 'devices',
  summary: 'search, show, register, and invite devices',
  actions: [
    action('list', 'search and list devices', 'GET /api/v1/fleet/devices', {
      options: [
        option('-q, --search <text>', 'part of the device id', 'q'),
        option('--status <status>', 'only devices in this state', 'status', { choices: ['active', 'inactive'] }),
        option('--platform <platform>', 'platform of the device', 'platform', { choices: PLATFORMS }),
        whereOption('only devices that meet this condition', 'query'),
        option('--sort <field>', 'field to sort by (default: device_id)', 'sort', {
          choices: ['device_id', 'last_seen', 'created'],
        }),
        option('--order <order>', 'sort order (default: asc)', 'order', { choices: ['asc', 'desc'] }),
      ],
      rows: 'devices',
      columns: COLUMNS,
      none: 'No devices. Invite one with: svc devices invite',
    }),
    action('show', 'show a device', 'GET /api/v1/devices/{device_id}', {
      args: [deviceArgument],
    }),
    action('heartbeats', 'show when a device sent heartbeats', 'GET /api/v1/devices/{device_id}/heartbeats', {
      args: [deviceArgument],
      shown: heartbeatsByHour,
    }),
    action('summary', 'count devices by status and platform', 'GET /api/v1/fleet/summary', {
      shown: lastHeardByMinute,
    }),
    action('assignments', 'list the versions assigned to a device', 'GET /api/v1/devices/{device_id}/assignments', {
      args: [deviceArgument],
      rows: 'assignments',
      paged: false,
      columns: [
        ['MODEL', (row) => row.model_name ?? row.model_id],
        ['VERSION', 'version'],
        ['BY', 'kind'],
        ['VARIANT', 'variant'],
        ['SIZE', 'model_size_bytes', 'size'],
        ['PLAN', 'plan_id', 'id'],
      ],
      none: 'No assignments.',
    }),
    entry('invite', 'print a command that enrolls another machine', () => import('./invite.command.ts')),
    action('export', 'export everything that is stored about a device', 'GET /api/v1/devices/{device_id}/export', {
      args: [deviceArgument],
      options: [option('--offset <rows>', 'skip this many rows of each kind (default: 0)', 'offset', 'number')],
    }),
    action('erase', 'erase a device and its data', 'POST /api/v1/devices/{device_id}/erase', {
      args: [argument('device', 'a device, by its device id', { find: 'device', field: 'confirm' })],
      confirm: 'Permanently erasing the device {device} and everything that is stored about it',
      done: 'Erased. The receipt: svc devices receipt {id}',
    }),
    action('receipts', 'list receipts of erased devices', 'GET /api/v1/device-erasures', {
      rows: 'erasures',
      columns: [
        ['ID', 'id'],
        ['ERASED', 'erased_at', 'time'],
        ['ROWS', 'rows', 'count'],
        ['BY', (row) => (row.by as { readonly kind: string }).kind],
      ],
      none: 'No device was erased.',
    }),
    action('receipt', 'show the receipt of an erased device', 'GET /api/v1/device-erasures/{erasure_id}', {
      args: [argument('receipt', 'the id of a receipt', { field: 'erasure_id' })],
    }),
    action('register', 'register a device and print its key once', 'POST /api/v1/devices/register', {
      args: [argument('device_id', 'id of the device, unique in the organization', { field: 'device_id' })],
      options: [
        option('--platform <platform>', 'platform of the device', 'platform', { choices: PLATFORMS }),
        option('--capability <key=value>', 'a capability, such as memory_gb=8; repeatable', 'capabilities', 'pairs'),
        option('--org <org_id>', 'organization of the device (default: that of the key)', 'org_id'),
        option('--no-trains', 'the device only runs models; no round selects it', 'trains', 'off'),
      ],
      hint: 'Save the key now: it is not shown again.',
    }),
  ],
}
