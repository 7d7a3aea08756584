import type { ResponseOf } from '../../api/use-api.ts'

export type ListedRollout = ResponseOf<'/api/v1/rollouts'>['rollouts'][number]
export type Rollout = ResponseOf<'/api/v1/models/{model_id}/rollouts/{rollout_id}'>
export type RolloutEvent = ResponseOf<'/api/v1/models/{model_id}/rollouts/{rollout_id}/history'>['events'][number]
export type Deployment = ResponseOf<'/api/v1/deployments/{deployment_id}'>
export type DeploymentEvent = ResponseOf<'/api/v1/deployments/{deployment_id}/history'>['events'][number]
export type Policy = ResponseOf<'/api/v1/models/{model_id}/policy'>
/** During a rolling upgrade, a process of the version before may send the policy without warnings. */
export const warningsOf = ({ warnings }: Partial<Pick<Policy, 'warnings'>>): readonly string[] => warnings ?? []
export type Decision = ResponseOf<'/api/v1/models/{model_id}/policy/decisions'>['decisions'][number]
export type Group = ResponseOf<'/api/v1/device-groups'>['groups'][number]

/** The live stream does not include device reports: there may be thousands per second. */
export const REPORTS = { everyMs: 3000 } as const
