import type { AnswerOf } from '../../api/use-api.ts'

export type ListedRollout = AnswerOf<'/api/v1/rollouts'>['rollouts'][number]
export type Rollout = AnswerOf<'/api/v1/models/{model_id}/rollouts/{rollout_id}'>
export type RolloutEvent = AnswerOf<'/api/v1/models/{model_id}/rollouts/{rollout_id}/history'>['events'][number]
export type Deployment = AnswerOf<'/api/v1/deployments/{deployment_id}'>
export type Policy = AnswerOf<'/api/v1/models/{model_id}/policy'>
export type Decision = AnswerOf<'/api/v1/models/{model_id}/policy/decisions'>['decisions'][number]
export type Group = AnswerOf<'/api/v1/device-groups'>['groups'][number]

/** The live stream does not include device reports: there may be thousands per second. */
export const REPORTS = { everyMs: 3000 } as const
