import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type components, unwrap } from '../../client/client.ts'
import { plural } from '../text/format.ts'
import { api, queries, refetchEvery } from './client.ts'
import { MODEL_CHOICES, MODELS_PER_PAGE } from './query-keys.ts'
import { useOwnOrg } from './session.ts'
import { type ResponseOf, read, useApi } from './use-api.ts'

const MAX_MODELS = 1000
/** Loading the models takes several requests. Events of models arrive sooner. */
const MODELS_FRESH_MS = 60_000

/** The groups of the session's organization. A session without one sees those of `orgId`, or of `default`. */
const useGroups = (orgId: string | null, enabled = true) => {
  const query = { org_id: useOwnOrg() ?? orgId ?? 'default', limit: 1000 }
  return useApi('/api/v1/device-groups', { query }, { enabled }).data?.groups
}

/** Options for choosing a group of the organization of a model or experiment, with its number of devices. */
export const useGroupOptions = (orgId: string | null): readonly Option[] => [
  ['', 'Every device'],
  ...(useGroups(orgId) ?? []).map(({ id, name, device_count }) => [id, `${name} (${device_count})`] as const),
]

/**
 * Returns the approximate number of devices in these groups, or in the organization of a model or experiment if there are none
 * (null: in the fleet); null while unknown. Devices in several of the groups count in each: it is then the largest possible
 * number.
 */
export const useDeviceCount = (groupIds: readonly string[], orgId: string | null): number | null => {
  const own = useOwnOrg()
  // A shared model may be of another organization, but the devices are the session's.
  const query = orgId === null || own !== null ? {} : { org_id: orgId }
  const fleet = useApi('/api/v1/fleet/summary', { query }, { enabled: groupIds.length === 0 })
  const groups = useGroups(orgId, groupIds.length > 0)
  if (groupIds.length === 0) return fleet.data?.total ?? null
  const found = groups?.filter(({ id }) => groupIds.includes(id))
  return found === undefined ? null : found.reduce((sum, { device_count }) => sum + device_count, 0)
}

type NamedModel = ResponseOf<'/api/v1/models'>['models'][number]
type Option = readonly [id: string, label: string]

export interface Models {
  readonly models: readonly NamedModel[]
  readonly total: number
  /** A page could not be loaded. */
  readonly isPartial: boolean
}

const MODELS_KEY = [MODEL_CHOICES]

/** Loads the models page by page. If a later page fails, returns those before it, unless more of them are already in view. */
const loadModels = async (signal: AbortSignal): Promise<Models> => {
  // By id: a model that is added meanwhile moves another one to the next page.
  const models = new Map<string, NamedModel>()
  const result = (total: number, isPartial: boolean) => ({ models: [...models.values()], total, isPartial })
  for (let offset = 0, total = 0; ; offset += MODELS_PER_PAGE) {
    const query = { limit: MODELS_PER_PAGE, offset, round_models: false }
    try {
      const page = await read('/api/v1/models', { query }, signal)
      for (const model of page.models) models.set(model.id, model)
      total = page.total
      const isLast = page.models.length < MODELS_PER_PAGE || offset + MODELS_PER_PAGE >= MAX_MODELS
      if (isLast) return result(total, false)
    } catch (error) {
      const inView = queries.getQueryData<Models>(MODELS_KEY)?.models.length ?? 0
      if (signal.aborted || models.size <= inView) throw error
      return result(total, true)
    }
  }
}

const noteOn = ({ models, total, isPartial }: Models): string | null =>
  isPartial || total > MAX_MODELS
    ? `Only the newest ${plural(models.length, 'model')} are listed. For an older one, use svc.`
    : null

/** By name. Sessions without an organization see models of several, whose names may be the same. */
const optionsOf = (models: readonly NamedModel[]): readonly Option[] => {
  const uses = new Map<string | null, number>()
  for (const { name } of models) uses.set(name, (uses.get(name) ?? 0) + 1)
  const label = (name: string, orgId: string | null): string =>
    uses.get(name) === 1 ? name : `${name} (${orgId ?? 'no organization'})`
  return models.map(({ id, name, org_id }) => [id, name === null ? id : label(name, org_id)])
}

/** The named models to choose from, without those made by single rounds. */
export interface ModelChoices {
  readonly models: readonly NamedModel[]
  /** In the same order. */
  readonly options: readonly Option[]
  /** Says that some are missing. */
  readonly note: string | null
  /** None could be loaded, for this reason. */
  readonly error: Error | null
  readonly refetch: () => unknown
  readonly isLoaded: boolean
}

export const useNamedModels = (): ModelChoices => {
  const { data, error, refetch } = useQuery({
    queryKey: MODELS_KEY,
    queryFn: ({ signal }) => loadModels(signal),
    staleTime: MODELS_FRESH_MS,
    // The rest of a list that could not be loaded completely.
    refetchInterval: (query) => refetchEvery(query.state.data?.isPartial ? MODELS_FRESH_MS : false)(query),
  })
  const models = data?.models ?? []
  return {
    models,
    options: optionsOf(models),
    note: data === undefined ? null : noteOn(data),
    error: data === undefined ? error : null,
    refetch,
    isLoaded: data !== undefined,
  }
}

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
