import { Type } from 'typebox'
import { REPORT_STATES } from '../../../domain/delivery-plan.ts'
import { REPORTED_RANGE } from '../../../domain/reported-number.ts'
import { Body, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { DeviceId, DeviceParams, OrgQuery } from '../../fleet/devices/devices.schema.ts'
import { examples as fleet } from '../../fleet/fleet.examples.ts'
import { Assignment } from '../../fleet/heartbeats/heartbeats.schema.ts'
import { examples } from '../delivery.examples.ts'

export { DeviceParams }

const ReportStateWord = OneOf(REPORT_STATES, {
  title: 'ReportState',
  description: 'The state of a version on a device',
})

export const AssignmentList = Body('AssignmentList', 'The assignments of a device', fleet.assignmentList, {
  device_id: Type.String(),
  assignments: Type.Array(Assignment),
})

export const ReportParams = Type.Object({ device_id: DeviceId, plan_id: Type.String() })

export const ReportBody = Body('NewReport', "A device's report on an assignment", examples.report, {
  state: ReportStateWord,
  version: Type.String({ minLength: 1, maxLength: 200 }),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 })),
  metrics: Type.Optional(
    Type.Record(Type.String(), Nullable(Type.Number()), {
      description: `What the device measured with this version, such as accuracy and loss. ${REPORTED_RANGE}. A metric whose name does not have 1 to 100 characters, or contains a line break, is left out, with a warning`,
      maxProperties: 100,
    }),
  ),
})

export const Report = Body('Report', 'A recorded report', examples.recordedReport, {
  plan_id: Uuid,
  device_id: Type.String(),
  state: ReportStateWord,
  version: Type.String(),
  reason: Nullable(Type.String()),
  reported_at: Timestamp,
  current: Type.Boolean({
    description:
      'Whether the plan assigns this version to the device; if not, the report counts only if the device reported this version of the plan before',
  }),
})

export const DeviceReportsQuery = Type.Object({
  ...OrgQuery.properties,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Default: 100' })),
})

export const DeviceReports = Body('DeviceReports', "A device's last report for each plan", examples.deviceReports, {
  device_id: Type.String(),
  reports: Type.Array(
    Part('DeviceReport', "A device's last report on the version that a plan assigned to it", {
      plan_id: Uuid,
      kind: OneOf(['rollout', 'deployment', 'experiment']),
      model_id: Nullable(Uuid),
      model_name: Nullable(Type.String()),
      state: ReportStateWord,
      version: Type.String(),
      reason: Nullable(Type.String()),
      metrics: Nullable(
        Type.Record(Type.String(), Nullable(Type.Number()), {
          description: 'What the device measured with the version',
        }),
      ),
      reported_at: Timestamp,
    }),
  ),
})
