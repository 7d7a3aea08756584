import type { ResponseOf } from '../../api/use-api.ts'

export type Model = ResponseOf<'/api/v1/models'>['models'][number]
export type ModelDetail = ResponseOf<'/api/v1/models/{model_id}'>
export type Version = ModelDetail['versions'][number]
export type VersionLineage = ResponseOf<'/api/v1/models/{model_id}/versions/{version}'>
export type Rollout = ResponseOf<'/api/v1/models/{model_id}/rollouts'>['rollouts'][number]
export type Deployment = ResponseOf<'/api/v1/deployments'>['deployments'][number]

export const nameOf = (model: Pick<Model, 'id' | 'name'>): string => model.name ?? model.id.slice(0, 8)

/** The API lists the oldest first; its last one is `latest`. */
export const newestFirst = ({ versions }: ModelDetail): readonly Version[] => [...versions].reverse()
