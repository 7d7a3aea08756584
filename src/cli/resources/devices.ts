import { PLATFORMS } from '../../domain/device.ts'
import type { Argument, Column, Resource } from './resource.ts'

export const deviceArgument: Argument = { name: 'device', help: 'a device, by its device id', find: 'device' }

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
    {
      name: 'list',
      summary: 'search and list devices',
      request: 'GET /api/v1/fleet/devices',
      options: [
        { flags: '-q, --search <text>', help: 'part of the device id', field: 'q' },
        { flags: '--status <status>', help: 'active or inactive', field: 'status', choices: ['active', 'inactive'] },
        { flags: '--platform <platform>', help: 'what it runs on', field: 'platform', choices: PLATFORMS },
        {
          flags: '--sort <field>',
          help: 'order (default: device_id)',
          field: 'sort',
          choices: ['device_id', 'last_seen', 'created'],
        },
        { flags: '--order <order>', help: 'asc or desc (default: asc)', field: 'order', choices: ['asc', 'desc'] },
      ],
      rows: 'devices',
      columns: COLUMNS,
      none: 'No devices. Invite one with: svc devices invite',
    },
    {
      name: 'show',
      summary: 'show a device',
      request: 'GET /api/v1/devices/{device_id}',
      args: [deviceArgument],
      options: [
        { flags: '--org <org_id>', help: 'its organization, where several have one of that id', field: 'org_id' },
      ],
    },
    {
      name: 'summary',
      summary: 'count devices by status and platform',
      request: 'GET /api/v1/fleet/summary',
    },
    {
      name: 'assignments',
      summary: 'list the versions that a device is to run',
      request: 'GET /api/v1/devices/{device_id}/assignments',
      args: [deviceArgument],
      options: [
        { flags: '--org <org_id>', help: 'its organization, where several have one of that id', field: 'org_id' },
      ],
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
      none: 'It is given no model.',
    },
    {
      name: 'invite',
      summary: 'print a line that makes another machine a device',
      load: () => import('./invite.command.ts'),
    },
    {
      name: 'register',
      summary: 'register a device and print its key once',
      request: 'POST /api/v1/devices/register',
      args: [{ name: 'device_id', help: 'its name, unique in the organization', field: 'device_id' }],
      options: [
        { flags: '--platform <platform>', help: 'what it runs on', field: 'platform', choices: PLATFORMS },
        {
          flags: '--capability <key=value>',
          help: 'about its hardware, such as memory_gb=8; repeatable',
          field: 'capabilities',
          parse: 'pairs',
        },
        { flags: '--org <org_id>', help: 'its organization (default: that of the key)', field: 'org_id' },
        { flags: '--no-trains', help: 'it only runs models: no round selects it', field: 'trains', parse: 'off' },
      ],
      hint: 'Keep the key now: it is not shown again.',
    },
  ],
}
