import { Type } from 'typebox'
import { Body, ReportedValues, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { DeviceParams, OrgQuery, Status, Trains } from '../devices/devices.schema.ts'
import { examples } from '../fleet.examples.ts'
import { Assignment } from './assignment.schema.ts'

export { DeviceParams }

export const HeartbeatBody = Body('Heartbeat', 'What a device reports of itself', examples.heartbeat, {
  status: Type.Optional(Status),
  metrics: Type.Optional(ReportedValues),
  trains: Type.Optional(Trains),
})

export const HeartbeatQuery = Type.Object({
  ...OrgQuery.properties,
  wait_seconds: Type.Number({
    minimum: 0,
    maximum: 55,
    default: 0,
    'x-extension': true,
    description: 'Hold the answer until a round awaits the device or its assignments change, at most so long',
  }),
  known_assignments: Type.Optional(
    Type.String({
      maxLength: 100,
      'x-extension': true,
      description: 'The assignments_tag the device knows; they are then not repeated',
    }),
  ),
})

export const HeartbeatResult = Body(
  'HeartbeatAnswer',
  'What the service has for the device',
  examples.heartbeatAnswer,
  {
    status: Status,
    last_heartbeat: Timestamp,
    pending_round_id: Type.Optional(Uuid),
    assignments: Type.Optional(
      Type.Array(Assignment, {
        'x-extension': true,
        description: 'What the device is to run; absent when nothing, or as it knows',
      }),
    ),
    assignments_tag: Type.Optional(
      Type.String({ 'x-extension': true, description: "Equal while the assignments are; 'none' of no assignments" }),
    ),
    next_heartbeat_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        'x-extension': true,
        description: 'Come again after so long; spread so that a large fleet does not come all at once',
      }),
    ),
    message: Type.String(),
  },
)
