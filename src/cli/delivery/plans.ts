import type { DeploymentStatus } from '../../domain/deployment.ts'
import type { Connection } from '../connection.ts'
import type { ModelDetail } from '../model-sources/catalog.ts'

export type Counts = Readonly<Record<string, number>>

/** A rollout or a deployment, with common field names. */
export interface Plan {
  readonly kind: 'rollout' | 'deployment'
  readonly id: string
  readonly version: string
  readonly status: 'pending' | 'active' | 'paused' | DeploymentStatus
  readonly percentage: number
  /** The final percentage; null if the percentage does not increase automatically. */
  readonly targetPercentage: number | null
  readonly nextStepAt: string | null
  readonly reason: string | null
  /** The start time, otherwise the creation time. */
  readonly since: string
}

export interface PlanDevice {
  readonly device_id: string
  readonly state: string
  readonly reason: string | null
}

/** True if the plan advances without a person, by time or by device reports. A paused plan does not. */
export const isInProgress = ({ status }: Plan): boolean => status === 'active' || status === 'started'

/** True if the plan has not ended: the fleet is between two versions. */
export const isOpen = (plan: Plan): boolean =>
  isInProgress(plan) || ['paused', 'pending', 'pending_approval'].includes(plan.status)

/** True if a rollback would withdraw the plan. */
export const canBeWithdrawn = ({ status }: Plan): boolean =>
  status === 'active' || status === 'paused' || status === 'started' || status === 'completed'

/** Older plans have been superseded. */
const LOOKED_AT = 100

/** Returns the plans of a model, newest first. Deployments are looked up by the model name they were created with. */
export const plansOf = async (
  connection: Connection,
  model: Pick<ModelDetail, 'id' | 'name'> | null,
  name: string,
): Promise<readonly Plan[]> => {
  const rollouts =
    model === null
      ? []
      : (
          await connection.ask((client) =>
            client.GET('/api/v1/models/{model_id}/rollouts', {
              params: { path: { model_id: model.id }, query: { limit: LOOKED_AT, offset: 0 } },
            }),
          )
        ).rollouts
  const { deployments } = await connection.ask((client) =>
    client.GET('/api/v1/deployments', {
      params: { query: { limit: LOOKED_AT, offset: 0, model_name: model === null ? name : (model.name ?? model.id) } },
    }),
  )
  const plans: Plan[] = [
    ...rollouts.map((rollout) => ({
      kind: 'rollout' as const,
      id: rollout.rollout_id,
      version: rollout.version,
      status: rollout.status,
      percentage: rollout.percentage,
      targetPercentage: rollout.target_percentage,
      nextStepAt: rollout.next_step_at,
      reason: rollout.reason,
      since: rollout.started_at ?? rollout.created_at,
    })),
    ...deployments.map((deployment) => ({
      kind: 'deployment' as const,
      id: deployment.deployment_id,
      version: deployment.model_version,
      status: deployment.status,
      percentage: deployment.rollout_percentage,
      targetPercentage: null,
      nextStepAt: null,
      reason: deployment.reason,
      since: deployment.created_at,
    })),
  ]
  return plans.sort((one, other) => (one.since < other.since ? 1 : one.since > other.since ? -1 : 0))
}

/** Returns the number of a plan's devices in each state. */
export const countsOf = async (connection: Connection, plan: Plan, modelId: string | null): Promise<Counts> => {
  if (plan.kind === 'deployment') {
    const path = { deployment_id: plan.id }
    return (await connection.ask((client) => client.GET('/api/v1/deployments/{deployment_id}', { params: { path } })))
      .devices
  }
  const path = { model_id: modelId ?? '', rollout_id: plan.id }
  const { reports } = await connection.ask((client) =>
    client.GET('/api/v1/models/{model_id}/rollouts/{rollout_id}', { params: { path } }),
  )
  return reports
}

const PAGE = 1000

/** Returns the devices on which a plan failed, with their reasons. */
export const failuresOf = async (
  connection: Connection,
  plan: Plan,
  modelId: string | null,
): Promise<readonly PlanDevice[]> => {
  const failed: PlanDevice[] = []
  for (let offset = 0; ; offset += PAGE) {
    const query = { limit: PAGE, offset }
    const { devices, total } =
      plan.kind === 'deployment'
        ? await connection.ask((client) =>
            client.GET('/api/v1/deployments/{deployment_id}/devices', {
              params: { path: { deployment_id: plan.id }, query },
            }),
          )
        : await connection.ask((client) =>
            client.GET('/api/v1/models/{model_id}/rollouts/{rollout_id}/devices', {
              params: { path: { model_id: modelId ?? '', rollout_id: plan.id }, query },
            }),
          )
    for (const { device_id, state, reason } of devices)
      if (state === 'failed') failed.push({ device_id, state, reason })
    if (offset + PAGE >= total) return failed
  }
}

/** Withdraws a plan: its devices return to their previous version. */
export const withdraw = async (connection: Connection, plan: Plan, modelId: string | null, reason: string) => {
  const body = { reason }
  if (plan.kind === 'deployment') {
    const path = { deployment_id: plan.id }
    await connection.ask((client) =>
      client.POST('/api/v1/deployments/{deployment_id}/rollback', { params: { path }, body }),
    )
    return
  }
  const path = { model_id: modelId ?? '', rollout_id: plan.id }
  await connection.ask((client) =>
    client.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/rollback', { params: { path }, body }),
  )
}
