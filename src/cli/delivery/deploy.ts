import { type Strategy, WHOLE_FLEET_WARNING } from '../../domain/deployment.ts'
import type { Connection } from '../connection.ts'
import { wrongUsage } from '../failure.ts'
import { deployedModel, type ModelDetail, modelNamed, nullIfNotFound } from '../model-sources/catalog.ts'

export interface Requested {
  readonly name: string
  readonly version: string
  /** The initial percentage, 1 to 100. */
  readonly rollout: number
  readonly strategy: Strategy
  readonly target?: 'ios' | 'android'
  readonly devices?: readonly string[]
  readonly group?: string
  /** For a rollout: percentage points per step, and the minutes between steps. */
  readonly step?: number
  readonly interval?: number
}

export const isWholeFleet = ({ devices, group, target }: Requested): boolean =>
  devices === undefined && group === undefined && target === undefined

/** Drops the warning that the target is the whole fleet, which is intended here. */
export const warningsBeyondFleet = (warnings: readonly string[]): readonly string[] =>
  warnings.filter((warning) => !warning.startsWith(WHOLE_FLEET_WARNING))

export type DeploymentMethod =
  | { readonly kind: 'rollout'; readonly model: ModelDetail }
  | { readonly kind: 'deployment'; readonly model: ModelDetail | null }

/**
 * A canary for the whole fleet is a rollout, which climbs while the devices are healthy and rolls back automatically. With
 * explicit targets or another strategy, it is a deployment (docs/decisions/0019).
 * @throws Failure if an option applies to rollouts only, or the name is not in the catalog and `allowUnknown` is false
 */
export const deploymentMethodOf = async (
  connection: Connection,
  requested: Requested,
  allowUnknown: boolean,
): Promise<DeploymentMethod> => {
  const model = await (allowUnknown
    ? nullIfNotFound(modelNamed(connection, requested.name))
    : deployedModel(connection, requested.name))
  if (model !== null && isWholeFleet(requested) && requested.strategy === 'canary') return { kind: 'rollout', model }
  for (const [option, value] of [
    ['--step', requested.step],
    ['--interval', requested.interval],
  ] as const) {
    if (value === undefined) continue
    throw wrongUsage(
      `${option} applies to rollouts only, and this is a deployment.`,
      'Leave it out. For a rollout to a group, use: svc rollouts create',
    )
  }
  return { kind: 'deployment', model }
}

const targetSelectorOf = (requested: Requested) => ({
  model_name: requested.name,
  model_version: requested.version,
  ...(requested.devices && { devices: [...requested.devices] }),
  ...(requested.group !== undefined && { group: requested.group }),
  ...(requested.target !== undefined && { platform: requested.target }),
})

const rolloutBodyOf = (requested: Requested) => ({
  version: requested.version,
  rollout_percentage: requested.rollout,
  target_percentage: 100,
  auto_rollback: true,
  ...(requested.step !== undefined && { increment_step: requested.step }),
  ...(requested.interval !== undefined && { step_interval_minutes: requested.interval }),
})

export const prepare = (connection: Connection, requested: Requested) =>
  connection.request((client) => client.POST('/api/v1/deploy/prepare', { body: targetSelectorOf(requested) }))

export const execute = (connection: Connection, requested: Requested) =>
  connection.request((client) =>
    client.POST('/api/v1/deploy/execute', {
      body: { ...targetSelectorOf(requested), rollout_percentage: requested.rollout, strategy: requested.strategy },
    }),
  )

export const previewSchedule = (connection: Connection, modelId: string, requested: Requested) =>
  connection.request((client) =>
    client.POST('/api/v1/models/{model_id}/rollouts/dry-run', {
      params: { path: { model_id: modelId } },
      body: rolloutBodyOf(requested),
    }),
  )

export const startRollout = (connection: Connection, modelId: string, requested: Requested) =>
  connection.request((client) =>
    client.POST('/api/v1/models/{model_id}/rollouts', {
      params: { path: { model_id: modelId } },
      body: rolloutBodyOf(requested),
    }),
  )
