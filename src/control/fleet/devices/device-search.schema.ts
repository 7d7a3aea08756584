import { Type } from 'typebox'
import { PLATFORMS } from '../../../domain/device.ts'
import { Body, Count, Nullable, OneOf, Part } from '../../../platform/http/wire.schema.ts'
import { Device, Status } from './devices.schema.ts'

const Platform = OneOf(PLATFORMS)

export const FleetQuery = Type.Object({
  q: Type.String({ maxLength: 255, default: '', description: 'Part of the device_id, in any case' }),
  platform: Type.Optional(Platform),
  status: Type.Optional(Status),
  sort: OneOf(['device_id', 'last_seen', 'created'], { default: 'device_id' }),
  order: OneOf(['asc', 'desc'], { default: 'asc' }),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 2000, description: 'The `next` of the page before' })),
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
    next: 'WyJwaXhlbC04LTAwNDMiLCIwYjZjNGYwZSJd',
    total: 31200,
  },
  {
    devices: Type.Array(Device),
    next: Nullable(Type.String({ description: 'Where the next page begins; null at the end' })),
    total: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'How many match, 100000 for more (with `q`, 10000); on the first page only',
      }),
    ),
  },
)

const PlatformCount = Part('PlatformCount', 'How many devices of a platform there are', {
  platform: Platform,
  total: Count,
  active: Count,
})

export const FleetSummary = Body(
  'FleetSummary',
  'The fleet in figures',
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
      description: 'Devices by the minute of their last heartbeat, the latest of 60 minutes first',
    }),
  },
)
