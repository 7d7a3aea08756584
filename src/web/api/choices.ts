import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type components, unwrap } from '../../client/client.ts'
import { api } from './client.ts'
import { useSession } from './session.ts'
import { type AnswerOf, useApi } from './use-api.ts'

/** The groups of this organization. A key of no organization sees those of `default`. */
const useGroups = (enabled = true) => {
  const session = useSession()
  const query = { org_id: session.data?.org_id ?? 'default', limit: 1000 }
  return useApi('/api/v1/device-groups', { query }, { enabled }).data?.groups
}

/** The groups to choose from, with how many devices each has. */
export const useGroupOptions = (): readonly (readonly [id: string, label: string])[] => [
  ['', 'Every device'],
  ...(useGroups() ?? []).map(({ id, name, device_count }) => [id, `${name} (${device_count})`] as const),
]

/** About how many devices these groups have, or all; null until it is known. */
export const useDeviceCount = (groupIds: readonly string[]): number | null => {
  const fleet = useApi('/api/v1/fleet/summary', {}, { enabled: groupIds.length === 0 })
  const groups = useGroups(groupIds.length > 0)
  if (groupIds.length === 0) return fleet.data?.total ?? null
  const found = groups?.filter(({ id }) => groupIds.includes(id))
  return found === undefined ? null : found.reduce((sum, { device_count }) => sum + device_count, 0)
}

/** The models that people named, to choose from; what single rounds have made is left out. */
export const useNamedModels = (): AnswerOf<'/api/v1/models'>['models'] =>
  useApi('/api/v1/models', { query: { limit: 100, round_models: false } }).data?.models ?? []

/** What a rollout would do, as the service works it out. */
export const useDryRun = (modelId: string, body: components['schemas']['NewRollout'], enabled = true) =>
  useQuery({
    queryKey: ['/api/v1/models/{model_id}/rollouts/dry-run', modelId, body],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST('/api/v1/models/{model_id}/rollouts/dry-run', {
          params: { path: { model_id: modelId } },
          body,
          signal,
        }),
      ),
    enabled,
    placeholderData: keepPreviousData,
  })
