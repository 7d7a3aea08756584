import { Type } from 'typebox'
import { PLATFORMS } from '../../../domain/device.ts'
import {
  Envelope,
  FreeObject,
  Nullable,
  OneOf,
  Page,
  ReportedValues,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'

export const DeviceName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Chosen by the user, unique in its organization',
})
export const Status = OneOf(['active', 'inactive'])
const Platform = OneOf(PLATFORMS)
export const Trains = Type.Boolean({ description: 'False: the device runs models and takes no part in rounds' })
export const OrgId = Type.String({ minLength: 1, maxLength: 128 })

export const RegisterBody = Type.Object({
  device_id: DeviceName,
  platform: Type.Optional(Platform),
  capabilities: Type.Optional(ReportedValues),
  org_id: Type.Optional(OrgId),
  trains: Type.Optional(Trains),
})

export const Registration = Type.Object({
  id: Uuid,
  device_id: Type.String(),
  api_key: Type.String({ description: 'Shown this once; cannot be retrieved later' }),
  platform: Platform,
  status: Status,
  created_at: Timestamp,
})

export const ListQuery = Type.Object({
  org_id: OrgId,
  platform: Type.Optional(Platform),
  status: Type.Optional(Status),
  ...Page({ max: 1000, default: 100 }),
})

export const DeviceList = Type.Object({
  devices: Type.Array(
    Type.Object({
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
  org_id: Type.Optional({
    ...OrgId,
    description: 'For keys bound to no organization, where several have a device of this device_id',
  }),
})

export const DeviceParams = Type.Object({ device_id: Type.String() })

export const Device = Type.Object({
  id: Uuid,
  device_id: Type.String(),
  org_id: Nullable(Type.String()),
  platform: Platform,
  capabilities: FreeObject,
  trains: Trains,
  status: Status,
  metrics: Nullable(FreeObject),
  last_heartbeat: Timestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
})
