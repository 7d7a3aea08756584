import { Type } from 'typebox'
import {
  Body,
  Count,
  Nullable,
  OneOf,
  Part,
  ReportedValues,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { OrgQuery, Status, Trains } from '../devices/devices.schema.ts'
import { examples } from '../fleet.examples.ts'

/** Here, although assignments belong to delivery: a heartbeat's response has them, and fleet imports no later module. */
export const Assignment = Part('Assignment', 'A version that a device is to run', {
  plan_id: Uuid,
  kind: OneOf(['rollout', 'deployment', 'experiment']),
  model_id: Nullable(Uuid),
  model_name: Nullable(Type.String()),
  version: Type.String({ description: 'Devices repeat it in their reports' }),
  version_number: Nullable(Type.Integer({ minimum: 1 })),
  format: Nullable(Type.String()),
  model_size_bytes: Nullable(Count),
  model_hash: Nullable(Type.String({ description: 'sha256:<hex>' })),
  download_path: Nullable(
    Type.String({ description: 'Null where the catalog has no such model: the device resolves model_name itself' }),
  ),
  activate: Type.Boolean({
    description: 'False: download and verify it, report ready, and keep running the current version',
  }),
  variant: Type.Optional(Type.String({ description: "The experiment's variant" })),
})

export const HeartbeatBody = Body(
  'Heartbeat',
  "A device's report about itself; capabilities that it omits are kept",
  examples.heartbeat,
  {
    status: Type.Optional(Status),
    metrics: Type.Optional(ReportedValues),
    trains: Type.Optional(Trains),
    capabilities: Type.Optional(ReportedValues),
  },
)

export const HeartbeatHistory = Body(
  'HeartbeatHistory',
  "A device's heartbeats from the last day",
  examples.heartbeatHistory,
  {
    device_id: Type.String(),
    from: Timestamp,
    slot_seconds: Type.Integer({ description: 'How long each slot is' }),
    counts: Type.Array(Count, {
      description: 'Number of heartbeats in each of the 96 slots since then, the current slot last',
    }),
  },
)

export const HeartbeatQuery = Type.Object({
  ...OrgQuery.properties,
  wait_seconds: Type.Number({
    minimum: 0,
    maximum: 55,
    default: 0,
    description: 'Hold the response until a round awaits the device or its assignments change, for at most this long',
  }),
  known_assignments: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'The assignments_tag that the device has; unchanged assignments are then omitted',
    }),
  ),
})

export const HeartbeatResponse = Body(
  'HeartbeatResponse',
  'The round that awaits the device, and its assignments',
  examples.heartbeatResponse,
  {
    status: Status,
    last_heartbeat: Timestamp,
    pending_round_id: Type.Optional(Uuid),
    pending_evaluation_round_id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The round whose new model the device should evaluate',
      }),
    ),
    assignments: Type.Optional(
      Type.Array(Assignment, {
        description: "The device's assignments; absent if there are none or they are unchanged",
      }),
    ),
    assignments_tag: Type.Optional(
      Type.String({
        description:
          "Changes when the assignments change. Without assignments: 'none' if known_assignments was sent, else absent",
      }),
    ),
    next_heartbeat_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'When to send the next heartbeat; random, so that a large fleet does not send all at once',
      }),
    ),
    message: Type.String(),
  },
)
