import { Type } from 'typebox'
import { PLATFORMS } from '../../../domain/device.ts'
import { NAME_CHARACTERS } from '../../../domain/text.ts'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  Matching,
  Nullable,
  Omitted,
  OneOf,
  OrgId,
  Page,
  Parameter,
  Part,
  ReportedValues,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { examples } from '../fleet.examples.ts'

export const DeviceName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Chosen by the user, unique in its organization',
})
/** URLs lose these two as path segments, percent-encoded or not, so no client that uses fetch could address the device. */
export const NewDeviceName = Matching(
  `^(?!\\.{1,2}$)${NAME_CHARACTERS}$`,
  "one line of 1 to 255 characters, without control characters, but not '.' or '..'",
  DeviceName,
)
export const Status = OneOf(['active', 'inactive'], {
  title: 'DeviceStatus',
  description: 'inactive: no recent heartbeat, or the device reported itself inactive',
})
export const Platform = OneOf(PLATFORMS, { title: 'Platform', description: "A device's operating system or runtime" })
export const Trains = Type.Boolean({ description: 'False: the device runs models but does not take part in rounds' })
const KnownOrg = { minLength: 1, maxLength: 128 }
export const OrgIdQuery = Parameter('OrgId', Type.String({ ...KnownOrg, description: 'The organization' }))

export const RegisterBody = Body('NewDevice', 'A device to register', examples.newDevice, {
  device_id: NewDeviceName,
  platform: Type.Optional(Platform),
  capabilities: Type.Optional(ReportedValues),
  org_id: Type.Optional(OrgId('Id of an organization')),
  trains: Type.Optional(Trains),
})

export const Registration = Body('Registration', 'A registered device with its API key', examples.registration, {
  id: Uuid,
  device_id: Type.String(),
  api_key: Type.String({ description: 'Shown only once; cannot be retrieved later' }),
  platform: Platform,
  status: Status,
  created_at: Timestamp,
})

export const ListQuery = Type.Object({
  org_id: OrgIdQuery,
  platform: Type.Optional(Platform),
  status: Type.Optional(Status),
  ...Page({ max: 1000, default: 100 }),
})

export const DeviceList = Body('DeviceList', 'A page of devices', examples.deviceList, {
  devices: Type.Array(
    Part('DeviceSummary', 'A device in a list', {
      id: Uuid,
      device_identifier: Type.String(),
      org_id: Type.String(),
      platform: Platform,
      status: Status,
      last_seen_at: Timestamp,
    }),
  ),
  ...Envelope,
})

export const OrgQuery = Type.Object({
  org_id: Type.Optional(
    Parameter(
      'DeviceOrgId',
      Type.String({
        ...KnownOrg,
        description:
          "The device's organization; required for keys that are not bound to an organization if several organizations have this device_id",
      }),
    ),
  ),
})

export const DeviceId = Parameter('DeviceId', Type.String({ description: "The device's user-chosen id" }))
export const DeviceParams = Type.Object({ device_id: DeviceId })

export const Device = Body('Device', 'A device and what it last reported', examples.device, {
  id: Uuid,
  device_id: Type.String(),
  org_id: Nullable(Type.String()),
  platform: Platform,
  capabilities: FreeObject,
  trains: Trains,
  status: Status,
  metrics: Nullable(FreeObject),
  omitted: Omitted,
  last_heartbeat: Timestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
})

const AnyPlatform = OneOf(PLATFORMS)

export const FleetQuery = Type.Object({
  org_id: Type.Optional(
    Type.String({
      ...KnownOrg,
      description: 'Only devices of this organization, and those without one if the key sees them',
    }),
  ),
  q: Type.String({ maxLength: 255, default: '', description: 'Part of the device_id, case-insensitive' }),
  device_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'The whole device_id; several organizations may use it' }),
  ),
  platform: Type.Optional(AnyPlatform),
  status: Type.Optional(Status),
  filter: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 8000,
      description: 'JSON list of conditions, as in `filter` of a device group; only devices that meet all of them',
    }),
  ),
  sort: OneOf(['device_id', 'last_seen', 'created'], { default: 'device_id' }),
  order: OneOf(['asc', 'desc'], { default: 'asc' }),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 2000, description: '`next` of the previous page' })),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100 }),
})

export const FleetDevices = Body(
  'FleetDevices',
  'A page of devices',
  {
    devices: [
      {
        id: '0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11',
        device_id: 'pixel-8-0043',
        org_id: 'acme',
        platform: 'android',
        capabilities: { memory_mb: 8192 },
        trains: true,
        status: 'active',
        metrics: { battery: 0.83 },
        last_heartbeat: '2026-01-31T12:00:00Z',
        created_at: '2026-01-12T09:00:00Z',
        updated_at: '2026-01-31T12:00:00Z',
      },
    ],
    next: 'WyJwaXhlbC04LTAwNDMiLCIwYjZjNGYwZS0yYzFkLTRiNTctOWE1NS0wYzlhNmYwZjNiMTEiXQ',
    total: 31200,
  },
  {
    devices: Type.Array(Device),
    next: Nullable(Type.String({ description: 'Pass as `after` to get the next page; null on the last page' })),
    total: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'Number of matches, at most 100000 (10000 with `q`); on the first page only',
      }),
    ),
  },
)

export const SummaryQuery = Type.Object({
  org_id: Type.Optional(Type.String({ ...KnownOrg, description: 'Only devices of this organization' })),
})

const PlatformCount = Part('PlatformCount', 'How many devices of a platform there are', {
  platform: AnyPlatform,
  total: Count,
  active: Count,
})

export const FleetSummary = Body(
  'FleetSummary',
  'Device counts of the fleet',
  {
    total: 31200,
    active: 28040,
    platforms: [{ platform: 'android', total: 31200, active: 28040 }],
    last_heard: [14020, 14020, 0],
  },
  {
    total: Count,
    active: Count,
    platforms: Type.Array(PlatformCount),
    last_heard: Type.Array(Count, {
      description: 'Number of devices whose last heartbeat was in each of the last 60 minutes, latest minute first',
    }),
  },
)
