import { PLATFORMS } from '../../domain/device.ts'
import { action, argument, type Column, option, type Resource } from './resource.ts'

const deviceArgument = argument('device', 'a device, by its device id', { find: 'device' })

const COLUMNS: readonly Column[] = [
  ['DEVICE', 'device_id'],
  ['STATUS', 'status'],
  ['LAST HEARTBEAT', 'last_heartbeat', 'ago'],
  ['PLATFORM', 'platform'],
  ['TRAINS', (row) => (row.trains === true ? 'yes' : 'no')],
  ['ORGANIZATION', 'org_id'],
]

export const devices: Resource = {
  name: 'devices',
  summary: 'search, show, register and invite devices',
  actions: [
    action('list', 'search and list devices', 'GET /api/v1/fleet/devices', {
      options: [
        option('-q, --search <text>', 'part of the device id', 'q'),
        option('--status <status>', 'active or inactive', 'status', { choices: ['active', 'inactive'] }),
        option('--platform <platform>', 'platform of the device', 'platform', { choices: PLATFORMS }),
        option('--sort <field>', 'order (default: device_id)', 'sort', {
          choices: ['device_id', 'last_seen', 'created'],
        }),
        option('--order <order>', 'asc or desc (default: asc)', 'order', { choices: ['asc', 'desc'] }),
      ],
      rows: 'devices',
      columns: COLUMNS,
      none: 'No devices. Invite one with: svc devices invite',
    }),
    action('show', 'show a device', 'GET /api/v1/devices/{device_id}', {
      args: [deviceArgument],
      options: [option('--org <org_id>', 'organization of the device, if several have this device id', 'org_id')],
    }),
    action('heartbeats', 'show when a device sent heartbeats', 'GET /api/v1/devices/{device_id}/heartbeats', {
      args: [deviceArgument],
      options: [option('--org <org_id>', 'organization of the device, if several have this device id', 'org_id')],
    }),
    action('summary', 'count devices by status and platform', 'GET /api/v1/fleet/summary'),
    action('assignments', 'list the versions assigned to a device', 'GET /api/v1/devices/{device_id}/assignments', {
      args: [deviceArgument],
      options: [option('--org <org_id>', 'organization of the device, if several have this device id', 'org_id')],
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
    {
      name: 'invite',
      summary: 'print a command that enrolls another machine',
      load: () => import('./invite.command.ts'),
    },
    action('export', 'export all that is stored about a device', 'GET /api/v1/devices/{device_id}/export', {
      args: [deviceArgument],
      options: [option('--org <org_id>', 'organization of the device, if several have this device id', 'org_id')],
    }),
    action('erase', 'erase a device and its data', 'POST /api/v1/devices/{device_id}/erase', {
      args: [argument('device', 'a device, by its device id', { find: 'device', field: 'confirm' })],
      confirm: 'Erasing the device {device} and all that is stored about it, for good',
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
        option('--capability <key=value>', 'a capability, such as memory_gb=8; repeatable', 'capabilities', {
          parse: 'pairs',
        }),
        option('--org <org_id>', 'its organization (default: that of the key)', 'org_id'),
        option('--no-trains', 'the device only runs models; no round selects it', 'trains', { parse: 'off' }),
      ],
      hint: 'Save the key now: it is not shown again.',
    }),
  ],
}
