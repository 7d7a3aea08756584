import { type Caller, sees } from '../../../domain/access.ts'
import { badRequest, inBody, isNotFound, notFound } from '../../../domain/errors.ts'
import { type ExperimentEvent, type ExperimentStatus, requireVariants, transition } from '../../../domain/experiment.ts'
import { isUuid } from '../../../domain/model.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { enumerate } from '../deployments/deployment-targets.service.ts'
import { experimentsStore, type StoredExperiment } from './experiments.store.ts'

export type { StoredExperiment, StoredVariant } from './experiments.store.ts'

export interface NewExperiment {
  readonly name: string
  readonly variants: readonly {
    readonly name: string
    /** Id or name. */
    readonly model: string
    readonly version: string | undefined
    readonly allocation: number
  }[]
  readonly targetGroups: readonly string[]
  readonly primaryMetric: string
  readonly confidenceLevel: number
}

/** The number of a model's first upload, whatever its label is. */
const FIRST_VERSION = '1'

/** Experiments: models or versions assigned to devices at random, from draft to end. */
export const createExperimentsService = (
  { database, now, newId }: Context,
  {
    plans,
    models,
    groups,
  }: {
    readonly plans: DeliveryPlans
    readonly models: Pick<ModelsService, 'resolve'>
    readonly groups: Pick<GroupsService, 'get'>
  },
) => {
  /** @throws not_found if there is no such experiment that the caller may see */
  const get = async (caller: Caller, id: string): Promise<StoredExperiment> => {
    const experiment = isUuid(id) ? await experimentsStore.find(database.sql, id) : null
    if (experiment === null || !sees(caller, experiment.orgId)) throw notFound('Experiment', id)
    return experiment
  }

  /** Pins the current version: a later upload or a moved alias must not change an experiment that is under way. */
  const resolve = async (caller: Caller, { name, model, version }: NewExperiment['variants'][number]) => {
    const found = await inBody(`variants: the model_id of '${name}'`, () => models.resolve(caller, model, version))
    const label = found.label === 'latest' ? FIRST_VERSION : found.label
    return { model: found.model, version: label, versionNumber: found.version?.version ?? null }
  }

  /** Returns the one organization that all models belong to. */
  const ownerOf = (owned: readonly StoredModel[]): string | null => {
    const orgIds = new Set(owned.map(({ orgId }) => orgId))
    if (orgIds.size > 1) throw badRequest('variants: their models belong to different organizations.')
    return owned[0]?.orgId ?? null
  }

  const targetsOf = async (caller: Caller, orgId: string | null, requested: readonly string[]): Promise<string[]> => {
    const ids = new Set<string>()
    for (const id of requested) {
      const group = await inBody('target_groups', () => groups.get(caller, id))
      if (!plans.reaches(orgId, group.orgId)) {
        throw badRequest(`target_groups: '${group.name}' belongs to a different organization than the models.`)
      }
      ids.add(group.id)
    }
    return [...ids]
  }

  /** Returns which plans give devices something else than their variants, and from which experiments it takes devices. */
  const replacementsOf = (experiment: StoredExperiment): string[] => {
    const { orgId, variants, startedRevision, endedAt, targetGroups } = experiment
    if (endedAt !== null) return []
    const warnings = [...new Set(variants.map(({ modelId }) => modelId))].flatMap((modelId) => {
      const names = variants.filter((variant) => variant.modelId === modelId).map(({ name }) => `'${name}'`)
      const place = { modelId, orgId, startedRevision: startedRevision ?? Number.POSITIVE_INFINITY, targetGroups }
      const { onAll, onSome } = plans.replacing(place)
      if (onAll !== null)
        return `No device gets ${enumerate(names)}: the newer rollout ${onAll.id} has given all devices version ${onAll.target.version}. Roll it back, or end the experiment.`
      const { newer, older } = plans.experimentsBeside(place)
      const warning = (words: string, found: string[]) => (found.length ? [`${words}: ${enumerate(found)}.`] : [])
      const replacing = onSome.map(({ id, target }) => `${id} (version ${target.version})`)
      const its = startedRevision === null ? 'Once started, it' : 'It'
      const idsOf = (found: typeof newer) => found.map(({ id }) => id)
      return [
        ...warning('Newer completed plans replace it on their devices', replacing),
        ...warning('Newer running experiments take precedence on their devices', idsOf(newer)),
        ...warning(`${its} takes precedence over older running experiments on its devices`, idsOf(older)),
      ]
    })
    return [...new Set(warnings)]
  }

  return {
    get,
    replacementsOf,

    async create(caller: Caller, requested: NewExperiment): Promise<StoredExperiment> {
      requireVariants(requested.variants)
      const resolved = await Promise.all(requested.variants.map((variant) => resolve(caller, variant)))
      const orgId = ownerOf(resolved.map(({ model }) => model))
      const experiment: StoredExperiment = {
        id: newId(),
        orgId,
        name: requested.name,
        status: 'draft',
        variants: requested.variants.map(({ name, allocation }, index) => {
          const { model, version, versionNumber } = resolved[index]!
          return { name, allocation, modelId: model.id, version, versionNumber }
        }),
        targetGroups: await targetsOf(caller, orgId, requested.targetGroups),
        primaryMetric: requested.primaryMetric,
        confidenceLevel: requested.confidenceLevel,
        reason: null,
        startedRevision: null,
        createdAt: now(),
        startedAt: null,
        endedAt: null,
      }
      await database.transaction(async (tx) => {
        await experimentsStore.insert(tx, experiment)
        auditNote({ kind: 'experiment', ...experiment, after: requested })
        await plans.planChanged(tx, changeOf(experiment))
      })
      return experiment
    },

    list: (caller: Caller, status: ExperimentStatus | undefined, page: { limit: number; offset: number }) =>
      experimentsStore.list(database.sql, { orgId: caller.orgId, status }, page),

    /** Applies an operator's action. @throws conflict if the experiment's status does not allow it */
    async applyAction(
      caller: Caller,
      id: string,
      event: ExperimentEvent,
      reason: string | null,
    ): Promise<StoredExperiment> {
      await get(caller, id)
      return plans.change(async (tx, bump) => {
        const locked = await experimentsStore.lock(tx, id)
        if (locked === null) throw notFound('Experiment', id)
        const moved = { ...locked, ...transition(locked, event, now(), reason) }
        const revision = await bump()
        const changed = event === 'start' ? { ...moved, startedRevision: revision } : moved
        await experimentsStore.update(tx, changed)
        await plans.planChanged(tx, changeOf(changed))
        auditNote({ kind: 'experiment', ...changed, before: auditedOf(locked), after: auditedOf(changed) })
        return changed
      })
    },

    /** Returns why an experiment that has not ended does not reach devices. */
    async warningsOf(caller: Caller, experiment: StoredExperiment): Promise<string[]> {
      if (experiment.endedAt !== null) return []
      const warnings: string[] = []
      for (const { name, modelId, version, versionNumber } of experiment.variants) {
        if (await plans.isUploaded({ modelId, modelName: null, version, versionNumber })) continue
        warnings.push(`Version ${version} of variant '${name}' has not been uploaded yet: its devices get no version.`)
      }
      for (const id of experiment.targetGroups) {
        const group = await groups.get(caller, id).catch(nullIfMissing)
        if (group === null) warnings.push(`Device group ${id} no longer exists.`)
        else if (group.deviceCount === 0) warnings.push(`Device group '${group.name}' has no devices.`)
      }
      return [...warnings, ...replacementsOf(experiment)]
    },
  }
}

const auditedOf = ({ status, reason }: StoredExperiment) => ({ status, reason })

const changeOf = ({ id, orgId, status }: StoredExperiment) => ({ kind: 'experiment', id, orgId, status }) as const

const nullIfMissing = (error: unknown): null => {
  if (isNotFound(error)) return null
  throw error
}

export type ExperimentsService = ReturnType<typeof createExperimentsService>
