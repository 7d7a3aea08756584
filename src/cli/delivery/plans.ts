import type { DeploymentStatus } from '../../domain/deployment.ts'
import type { Connection } from '../connection.ts'
import type { ModelDetail } from '../model-sources/catalog.ts'
import { MAX_PAGE, readPages } from '../resources/requests.ts'

export type Counts = Readonly<Record<string, number>>

/** A rollout or a deployment, with common field names. */
export interface Plan {
  readonly kind: 'rollout' | 'deployment'
  readonly id: string
  readonly version: string
  readonly status: 'pending' | 'active' | 'paused' | DeploymentStatus
  readonly percentage: number
  /** True for a rollout to the whole fleet, at once or by now. */
  readonly reachesAll: boolean
  /** The final percentage; null if the percentage does not increase automatically. */
  readonly targetPercentage: number | null
  readonly nextStepAt: string | null
  readonly reason: string | null
  /** The start time, otherwise the creation time. */
  readonly since: string
  readonly endedAt: string | null
  /** True if it ended without a person: by its steps, its health, its deadline, or a policy. */
  readonly endedByService: boolean
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

const endOf = ({ endedAt, since }: Plan): string => endedAt ?? since

/** Returns the plan that was withdrawn last, if that was after `newest`, the newest plan in force, had started. */
export const withdrawnSince = (newest: Plan, plans: readonly Plan[]): Plan | null => {
  const withdrawn = plans.filter(({ status }) => status === 'rolled_back' || status === 'failed')
  const [last] = withdrawn.sort((one, other) => (endOf(one) < endOf(other) ? 1 : -1))
  return last !== undefined && endOf(last) > newest.since ? last : null
}

/**
 * Returns the plans of a model, newest first; with `max`, only the newest of each kind. Deployments are looked up by the model
 * name they were created with.
 */
export const plansOf = async (
  connection: Connection,
  model: Pick<ModelDetail, 'id' | 'name'> | null,
  name: string,
  max = Number.POSITIVE_INFINITY,
): Promise<readonly Plan[]> => {
  const paging = { limit: max, pageSize: MAX_PAGE }
  const rolloutsOf = (model_id: string) =>
    readPages(
      (query) =>
        connection.request((client) =>
          client.GET('/api/v1/models/{model_id}/rollouts', { params: { path: { model_id }, query } }),
        ),
      ({ rollouts }) => rollouts,
      paging,
    )
  const rollouts = model === null ? [] : (await rolloutsOf(model.id)).rows
  const model_name = model === null ? name : (model.name ?? model.id)
  const { rows: deployments } = await readPages(
    (query) =>
      connection.request((client) =>
        client.GET('/api/v1/deployments', { params: { query: { ...query, model_name } } }),
      ),
    (page) => page.deployments,
    paging,
  )
  const plans: Plan[] = [
    ...rollouts.map((rollout) => ({
      kind: 'rollout' as const,
      id: rollout.rollout_id,
      version: rollout.version,
      status: rollout.status,
      percentage: rollout.percentage,
      reachesAll: rollout.percentage === 100 && rollout.group_id === null,
      targetPercentage: rollout.target_percentage,
      nextStepAt: rollout.next_step_at,
      reason: rollout.reason,
      since: rollout.started_at ?? rollout.created_at,
      endedAt: rollout.ended_at,
      endedByService: rollout.ended_by === 'service',
    })),
    ...deployments.map((deployment) => ({
      kind: 'deployment' as const,
      id: deployment.deployment_id,
      version: deployment.model_version,
      status: deployment.status,
      percentage: deployment.rollout_percentage,
      reachesAll: false,
      targetPercentage: null,
      nextStepAt: null,
      reason: deployment.reason,
      since: deployment.created_at,
      endedAt: deployment.ended_at,
      endedByService: deployment.status === 'completed' || deployment.status === 'failed',
    })),
  ]
  return plans.sort((one, other) => (one.since < other.since ? 1 : one.since > other.since ? -1 : 0))
}

export interface Progress {
  /** The number of devices in each state. */
  readonly counts: Counts
  /** Why some devices do not get the version. */
  readonly warnings: readonly string[]
}

export const rolloutOf = (connection: Connection, modelId: string, id: string) =>
  connection.request((client) =>
    client.GET('/api/v1/models/{model_id}/rollouts/{rollout_id}', {
      params: { path: { model_id: modelId, rollout_id: id } },
    }),
  )

export const progressOf = async (
  connection: Connection,
  plan: Pick<Plan, 'kind' | 'id'>,
  modelId: string | null,
): Promise<Progress> => {
  if (plan.kind === 'deployment') {
    const path = { deployment_id: plan.id }
    const { devices } = await connection.request((client) =>
      client.GET('/api/v1/deployments/{deployment_id}', { params: { path } }),
    )
    return { counts: devices, warnings: [] }
  }
  const { reports, warnings } = await rolloutOf(connection, modelId ?? '', plan.id)
  return { counts: reports, warnings }
}

/** Returns the running experiments that give devices versions of a model. */
export const experimentsOn = async (connection: Connection, modelId: string) => {
  const { rows } = await readPages(
    (query) =>
      connection.request((client) =>
        client.GET('/api/v1/experiments', { params: { query: { ...query, status: 'running' } } }),
      ),
    ({ experiments }) => experiments,
    { pageSize: MAX_PAGE },
  )
  return rows.filter(({ variants }) => variants.some(({ model_id }) => model_id === modelId))
}

/** Returns the devices on which a plan failed, with their reasons. */
export const failuresOf = async (
  connection: Connection,
  plan: Plan,
  modelId: string | null,
): Promise<readonly PlanDevice[]> => {
  interface Page {
    readonly devices: readonly PlanDevice[]
    readonly total: number
  }
  const { rows } = await readPages(
    (query): Promise<Page> =>
      plan.kind === 'deployment'
        ? connection.request((client) =>
            client.GET('/api/v1/deployments/{deployment_id}/devices', {
              params: { path: { deployment_id: plan.id }, query },
            }),
          )
        : connection.request((client) =>
            client.GET('/api/v1/models/{model_id}/rollouts/{rollout_id}/devices', {
              params: { path: { model_id: modelId ?? '', rollout_id: plan.id }, query },
            }),
          ),
    ({ devices }) => devices,
    { pageSize: MAX_PAGE },
  )
  return rows.filter(({ state }) => state === 'failed')
}

/** Withdraws a plan: its devices return to their previous version. */
export const withdraw = async (connection: Connection, plan: Plan, modelId: string | null, reason: string) => {
  const body = { reason }
  if (plan.kind === 'deployment') {
    const path = { deployment_id: plan.id }
    await connection.request((client) =>
      client.POST('/api/v1/deployments/{deployment_id}/rollback', { params: { path }, body }),
    )
    return
  }
  const path = { model_id: modelId ?? '', rollout_id: plan.id }
  await connection.request((client) =>
    client.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/rollback', { params: { path }, body }),
  )
}
