import { Type } from 'typebox'
import { DEVICE_STATES } from '../../../domain/delivery-plan.ts'
import { DEPLOYMENT_STATUSES, STRATEGIES } from '../../../domain/deployment.ts'
import { PLATFORMS } from '../../../domain/device.ts'
import {
  Body,
  Count,
  Envelope,
  Line,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { EndedSince, historyFields, WITHDRAWN } from '../assignments/plans.schema.ts'
import { examples } from '../delivery.examples.ts'

const MAX_DEVICES = 10_000
const WEEK_MINUTES = 7 * 24 * 60

const selector = {
  model_name: Line(
    255,
    'Name or id of a model in the catalog, or name@version; a name that is not in it is accepted with a warning, and devices resolve it',
  ),
  model_version: Line(200, 'A version of it, an alias, or latest'),
  devices: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      minItems: 1,
      maxItems: MAX_DEVICES,
      description: 'Ids of the target devices, besides those of the group; default without a group: all active devices',
    }),
  ),
  group: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Id or name of a device group' })),
  platform: Type.Optional(OneOf(PLATFORMS, { description: 'Only devices of this platform' })),
}

export const PrepareBody = Body(
  'DeploymentToPrepare',
  'A deployment to validate',
  examples.deploymentToPrepare,
  selector,
)

export const ExecuteBody = Body('NewDeployment', 'A deployment to execute', examples.newDeployment, {
  ...selector,
  rollout_percentage: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, description: 'Percentage of targets to activate; default: 100' }),
  ),
  strategy: Type.Optional(OneOf(STRATEGIES, { description: 'Default: canary' })),
  deadline_minutes: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 60 * WEEK_MINUTES,
      description: 'Default: 10080, a week',
    }),
  ),
})

export const Prepared = Body(
  'PreparedDeployment',
  'The targets that a deployment would have',
  examples.preparedDeployment,
  {
    ok: Type.Boolean({ description: 'At least one target was resolved' }),
    target_count: Count,
    resolved_targets: Type.Array(Type.String(), { description: 'Empty for keys without devices:read' }),
    warnings: Type.Array(Type.String()),
  },
)

const StatusWord = OneOf(DEPLOYMENT_STATUSES, {
  title: 'DeploymentStatus',
  description: 'The state of a deployment',
})

export const Executed = Body('StartedDeployment', 'A started deployment', examples.startedDeployment, {
  deployment_id: Uuid,
  status: StatusWord,
  target_count: Count,
  activated_count: Count,
  approval_id: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'The pending approval, if the state is pending_approval',
    }),
  ),
  warnings: Type.Array(Type.String(), {
    description: 'Accepted input that is probably a mistake',
  }),
})

const deploymentFields = {
  deployment_id: Uuid,
  org_id: Nullable(Type.String()),
  model_name: Type.String(),
  model_version: Type.String(),
  model_id: Nullable(Uuid),
  status: StatusWord,
  strategy: OneOf(STRATEGIES),
  rollout_percentage: Type.Integer({ minimum: 0, maximum: 100 }),
  target_count: Count,
  activated_count: Count,
  reason: Nullable(
    Type.String({
      description: 'Why it failed, was rejected or rolled back, or how many devices failed or have not reported',
    }),
  ),
  switched_at: Nullable(Timestamp),
  deadline_at: Nullable(Timestamp),
  created_at: Timestamp,
  ended_at: Nullable(Timestamp),
}

const DeploymentSummary = Part('DeploymentSummary', 'A deployment in a list', deploymentFields)
export const DeploymentList = Body('DeploymentList', 'A page of deployments', examples.deploymentList, {
  deployments: Type.Array(DeploymentSummary),
  ...Envelope,
})

export const Deployment = Body('Deployment', 'A deployment with the states of its devices', examples.deployment, {
  ...deploymentFields,
  devices: Type.Record(Type.String(), Count, {
    description: `How many activated devices are in each state; of a failed or rolled-back deployment, ${WITHDRAWN}`,
  }),
})

const DeploymentId = Parameter('DeploymentId', Type.String({ description: 'Id of a deployment' }))
export const DeploymentParams = Type.Object({ deployment_id: DeploymentId })
export const ListQuery = Type.Object({
  ...Page({ max: 1000, default: 100 }),
  model_name: Type.Optional(Type.String({ maxLength: 255 })),
  status: Type.Optional(OneOf(DEPLOYMENT_STATUSES, { description: 'Only deployments in this state' })),
  ended_since: EndedSince,
})
export const PromoteBody = Body('Promotion', 'The new percentage of targets to activate', examples.promotion, {
  rollout_percentage: Type.Integer({ minimum: 1, maximum: 100, description: 'Higher than the current percentage' }),
})
export const DeploymentDevices = Body(
  'DeploymentDeviceList',
  "A page of a deployment's targets",
  examples.deploymentDeviceList,
  {
    devices: Type.Array(
      Part('DeploymentDevice', 'A target and what it reported', {
        device_id: Type.String(),
        activated: Type.Boolean(),
        state: OneOf(['waiting', 'assigned', ...DEVICE_STATES], {
          description: `waiting: not activated yet; assigned: activated, with no report yet; ${WITHDRAWN}`,
        }),
        version: Nullable(Type.String()),
        reason: Nullable(Type.String()),
        reported_at: Nullable(Timestamp),
      }),
    ),
    ...Envelope,
  },
)

export const DeploymentHistory = Body(
  'DeploymentHistory',
  'A page of the events of a deployment',
  examples.deploymentHistory,
  historyFields,
)
