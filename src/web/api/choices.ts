import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type components, unwrap } from '../../client/client.ts'
import { api } from './client.ts'
import { useSession } from './session.ts'
import { type AnswerOf, read, useApi } from './use-api.ts'

const MODELS_PER_PAGE = 100
const MAX_MODELS = 1000
const NO_MODELS = { models: [], note: null } as const
const CUT_NOTE = 'Only the newest 1,000 models are listed. For an older one, use svc.'

/** The groups of this organization. A key without an organization sees those of `default`. */
const useGroups = (enabled = true) => {
  const session = useSession()
  const query = { org_id: session.data?.org_id ?? 'default', limit: 1000 }
  return useApi('/api/v1/device-groups', { query }, { enabled }).data?.groups
}

/** Options for choosing a group, with its number of devices. */
export const useGroupOptions = (): readonly (readonly [id: string, label: string])[] => [
  ['', 'Every device'],
  ...(useGroups() ?? []).map(({ id, name, device_count }) => [id, `${name} (${device_count})`] as const),
]

/**
 * Returns the approximate number of devices in these groups, or in the fleet if there are none; null while unknown. Devices in
 * several of the groups count in each: it is then the largest possible number.
 */
export const useDeviceCount = (groupIds: readonly string[]): number | null => {
  const fleet = useApi('/api/v1/fleet/summary', {}, { enabled: groupIds.length === 0 })
  const groups = useGroups(groupIds.length > 0)
  if (groupIds.length === 0) return fleet.data?.total ?? null
  const found = groups?.filter(({ id }) => groupIds.includes(id))
  return found === undefined ? null : found.reduce((sum, { device_count }) => sum + device_count, 0)
}

/** The named models to choose from, without those made by single rounds, and a note if some are missing. */
export const useNamedModels = () =>
  useQuery({
    queryKey: ['/api/v1/models', 'named'],
    queryFn: async ({ signal }) => {
      const models: AnswerOf<'/api/v1/models'>['models'][number][] = []
      for (;;) {
        const query = { limit: MODELS_PER_PAGE, offset: models.length, round_models: false }
        const page = await read('/api/v1/models', { query }, signal)
        models.push(...page.models)
        const isComplete = page.models.length < MODELS_PER_PAGE || models.length >= MAX_MODELS
        if (isComplete) return { models, note: page.total > models.length ? CUT_NOTE : null }
      }
    },
  }).data ?? NO_MODELS

/** Previews a rollout as computed by the service. */
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
