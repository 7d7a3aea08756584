import { Type } from 'typebox'
import { DeviceParams, Status } from '../devices/devices.schema.ts'
import { FreeObject, Timestamp, Uuid } from '../wire.schema.ts'

export { DeviceParams }

export const HeartbeatBody = Type.Object({
  status: Type.Optional(Status),
  metrics: Type.Optional(FreeObject),
})

export const HeartbeatQuery = Type.Object({
  wait_seconds: Type.Number({
    minimum: 0,
    maximum: 55,
    default: 0,
    description: 'Ours: hold the answer until a round awaits the device, at most so long',
  }),
})

export const HeartbeatResult = Type.Object({
  status: Status,
  last_heartbeat: Timestamp,
  pending_round_id: Type.Optional(Uuid),
  message: Type.String(),
})
