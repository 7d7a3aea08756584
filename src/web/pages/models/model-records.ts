import { useOwnOrg } from '../../api/session.ts'
import type { ResponseOf } from '../../api/use-api.ts'

export type Model = ResponseOf<'/api/v1/models'>['models'][number]
export type ModelDetail = ResponseOf<'/api/v1/models/{model_id}'>
export type Version = ModelDetail['versions'][number]
export type VersionLineage = ResponseOf<'/api/v1/models/{model_id}/versions/{version}'>

export const nameOf = (model: Pick<Model, 'id' | 'name'>): string => model.name ?? model.id.slice(0, 8)

/** The API lists the oldest first; its last one is `latest`. */
export const newestFirst = ({ versions }: ModelDetail): readonly Version[] => [...versions].reverse()

export interface DeployProps {
  readonly model: ModelDetail
  /** A version label, or an alias. */
  readonly version: string
}

/** Why the session's organization may only read a model: another one shares it. null if it may change and deliver it. */
export const useSharedNote = (model: Pick<Model, 'org_id'> | undefined): string | null => {
  const own = useOwnOrg()
  if (model === undefined || own === null || model.org_id === own) return null
  return `This model belongs to ${model.org_id}, which shares it: ${own} can only read and download it.`
}

/** Properties of a button that changes or delivers a model. */
export const useGuard = (model: Pick<Model, 'org_id'> | undefined) => {
  const note = useSharedNote(model)
  return { needs: 'models:write', ...(note !== null && { disabled: true, title: note }) } as const
}
