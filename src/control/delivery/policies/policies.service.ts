import type { Caller } from '../../../domain/access.ts'
import { badRequest, notFound } from '../../../domain/errors.ts'
import { METRIC_NAME } from '../../../domain/metrics.ts'
import { ownEntry } from '../../../domain/own-entry.ts'
import type { PolicySettings } from '../../../domain/policy.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import { hasLostGroup, type PolicyParts } from './canaries.service.ts'
import { decisionsStore } from './decisions.store.ts'
import { policiesStore, type StoredPolicy } from './policies.store.ts'
import { announcePolicy, createPolicyDecisions } from './policy-decisions.service.ts'

export type { FinishedRound, FinishedRounds } from './canaries.service.ts'
export type { StoredDecision } from './decisions.store.ts'
export type { StoredPolicy } from './policies.store.ts'

interface PolicyRequest extends Omit<PolicySettings, 'canaryGroupId'> {
  readonly enabled: boolean
  /** Id or name. */
  readonly canaryGroup: string | undefined
}

const requireFurtherMetric = (name: string): void => {
  const field = ownEntry({ accuracy: 'max_accuracy_drop', loss: 'max_loss_increase' }, name)
  if (field !== undefined) throw badRequest(`metric_margins: set the margin of ${name} with ${field}.`)
  if (!METRIC_NAME.test(name)) {
    throw badRequest(
      `metric_margins: '${name.slice(0, 80)}' is not a metric's name: at most 64 letters, digits, and _ . : @ / + -, a letter first.`,
    )
  }
}

/**
 * Automatic delivery: the result of a finished round becomes the next version of a model, is tried on a canary, and goes to
 * all devices or is rolled back. Off unless the model has an enabled policy.
 */
export const createPoliciesService = (context: Context, parts: PolicyParts) => {
  const { database, now, newId } = context
  const { plans, models, groups } = parts
  const { tick, followRounds } = createPolicyDecisions(context, parts)

  const find = async (caller: Caller, modelIdOrName: string): Promise<StoredPolicy> => {
    const { model } = await models.find(caller, modelIdOrName)
    const policy = await policiesStore.find(database.sql, model.id)
    if (policy === null) throw notFound('Policy of model', modelIdOrName)
    return policy
  }

  return {
    find,
    tick,
    followRounds,

    /** Returns why the policy does nothing, if something that it needs is gone. */
    warningsOf: async (policy: StoredPolicy): Promise<string[]> =>
      (await hasLostGroup(groups, policy))
        ? ['The canary group was deleted: no result is tried until the policy is set with another group, or with none.']
        : [],

    resetTimesAhead: (): Promise<void> => policiesStore.resetTimesAhead(database.sql, now()),

    /** Lists the policies of all models that the caller sees, each with its model. */
    async list(caller: Caller) {
      const found = await policiesStore.list(database.sql, caller.orgId)
      const known = await models.knownAll(found.map(({ modelId }) => modelId))
      return found.map((policy) => ({ policy, model: known.get(policy.modelId) ?? null }))
    },

    async set(caller: Caller, modelIdOrName: string, wanted: PolicyRequest): Promise<StoredPolicy> {
      const { model } = await models.find(caller, modelIdOrName)
      const { enabled, canaryGroup, ...settings } = wanted
      if (settings.canaryPercentage === 100 && canaryGroup === undefined)
        throw badRequest(
          'canary_percentage: a canary of the whole fleet leaves no devices to compare it with. Choose less than 100, or name a canary_group.',
        )
      for (const name of Object.keys(settings.metricMargins ?? {})) requireFurtherMetric(name)
      const group = canaryGroup === undefined ? null : await groups.locate(model, canaryGroup)
      if (canaryGroup !== undefined && group === null) {
        throw badRequest(`canary_group: there is no device group '${canaryGroup}'. Create it first, or leave it out.`)
      }
      const policy: StoredPolicy = {
        id: newId(),
        orgId: model.orgId,
        modelId: model.id,
        enabled,
        settings: { ...settings, canaryGroupId: group?.id ?? null },
        createdAt: now(),
        updatedAt: now(),
      }
      return database.transaction(async (tx) => {
        const before = await policiesStore.find(tx, model.id)
        const saved = await policiesStore.save(tx, policy)
        auditNote({
          kind: 'policy',
          ...saved,
          name: model.name,
          before: before && auditedOf(before),
          after: auditedOf(saved),
        })
        await announcePolicy(plans, tx, saved, enabled ? 'enabled' : 'disabled')
        return saved
      })
    },

    /** Stops observing a canary; it continues until an operator ends it. */
    async delete(caller: Caller, modelIdOrName: string): Promise<StoredPolicy> {
      const policy = await find(caller, modelIdOrName)
      await database.transaction(async (tx) => {
        if (!(await policiesStore.delete(tx, policy.id))) throw notFound('Policy of model', modelIdOrName)
        auditNote({ kind: 'policy', ...policy, before: auditedOf(policy) })
        await announcePolicy(plans, tx, policy, 'deleted')
      })
      return policy
    },

    async decisions(caller: Caller, modelIdOrName: string, page: { limit: number; offset: number }) {
      const policy = await find(caller, modelIdOrName)
      await runDue(tick)
      return decisionsStore.decisions(database.sql, policy.id, page)
    },
  }
}

const auditedOf = ({ modelId, enabled, settings }: StoredPolicy) => ({ modelId, enabled, ...settings })

export type PoliciesService = ReturnType<typeof createPoliciesService>
