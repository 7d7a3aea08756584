import type { Caller } from '../../../domain/access.ts'
import { badRequest, notFound } from '../../../domain/errors.ts'
import { explain, isJudgeable, judge, type PolicySettings } from '../../../domain/policy.ts'
import { NO_STEPS_SECONDS } from '../../../domain/rollout.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { RolloutsService } from '../rollouts/rollouts.service.ts'
import type { DecisionStatus, DecisionsStore, StoredDecision } from './decisions.store.ts'
import type { PoliciesStore, StoredPolicy } from './policies.store.ts'

export type { StoredDecision } from './decisions.store.ts'
export type { StoredPolicy } from './policies.store.ts'

export interface FinishedRound {
  readonly id: string
  readonly roundNumber: number
  readonly aggregatedModelId: string
}

/**
 * The newest round that was trained from the policy's model, or from what came of it in earlier rounds, that ended since the
 * policy was set and that came after all rounds it has decided on. Training answers it.
 */
export type UndecidedRound = (db: Executor, policy: StoredPolicy) => Promise<FinishedRound | null>

export interface WantedPolicy extends Omit<PolicySettings, 'canaryGroupId'> {
  readonly enabled: boolean
  /** Id or name. */
  readonly canaryGroup: string | undefined
}

/**
 * The closed loop: what a finished round learned becomes the next version of a model, is tried on a canary, and goes on to
 * everybody or back. Off unless a model has a policy that is enabled.
 */
export const createPoliciesService = (parts: {
  readonly database: Database
  readonly store: PoliciesStore
  readonly decisionsStore: DecisionsStore
  readonly plans: DeliveryPlans
  readonly models: ModelsService
  readonly rollouts: RolloutsService
  readonly groups: Pick<GroupsService, 'locate'>
  readonly log: { error(fields: object, message: string): void; info(fields: object, message: string): void }
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, decisionsStore, plans, models, rollouts, groups, log, now, newId } = parts

  let undecided: UndecidedRound = async () => null

  const find = async (caller: Caller, modelIdOrName: string): Promise<StoredPolicy> => {
    const { model } = await models.find(caller, modelIdOrName)
    const policy = await store.find(database.sql, model.id)
    if (policy === null) throw notFound('Policy', modelIdOrName, 'as the name of a model')
    return policy
  }

  /** `status` is what has become of the policy, or of the model it has judged. */
  const announce = (tx: Database['sql'], { id, orgId, modelId }: StoredPolicy, status: string): Promise<void> =>
    plans.announce(tx, { kind: 'policy', id, orgId, modelId, status })

  /** Takes up the newest round that came of the policy's model, unless another is still being observed. */
  const begin = async (policy: StoredPolicy): Promise<void> => {
    const { settings } = policy
    const round = await undecided(database.sql, policy)
    if (round === null || (await decisionsStore.observing(database.sql, policy.id)).length > 0) return
    const origin = await models.originOf(round.aggregatedModelId, 1)
    const model = await models.known(policy.modelId)
    if (origin === null || model === null) return
    await plans.change(async (tx, bump) => {
      // Whoever was faster has left a decision.
      if ((await store.lockEnabled(tx, policy.id)) === null) return
      if ((await undecided(tx, policy))?.id !== round.id) return
      // Where its job has published the round, that is the version.
      const published = await models.publish(tx, model.id, {
        modelId: round.aggregatedModelId,
        roundId: round.id,
        roundNumber: round.roundNumber,
        jobId: null,
        metrics: {},
      })
      if (published === null) return
      const { version } = published
      const canary = await rollouts.launch(tx, bump, model, {
        version: String(version),
        percentage: settings.canaryPercentage,
        targetPercentage: settings.canaryPercentage,
        incrementStep: settings.incrementStep,
        // Only the policy's judgement ends it.
        stepIntervalSeconds: NO_STEPS_SECONDS,
        groupId: settings.canaryGroupId,
        autoRollback: true,
        startImmediately: true,
      })
      await decisionsStore.addDecision(tx, {
        id: newId(),
        policyId: policy.id,
        roundId: round.id,
        rolloutId: canary.id,
        version: String(version),
        status: 'observing',
        record: {
          roundNumber: round.roundNumber,
          aggregateModelId: round.aggregatedModelId,
          promotionRolloutId: null,
          reason: null,
          comparisons: [],
        },
        createdAt: now(),
        decidedAt: null,
      })
    })
  }

  /** Looks at a canary at most twice, so that chance gets no third: when enough have measured, and at the end. */
  const conclude = async (decision: StoredDecision, policy: StoredPolicy): Promise<void> => {
    const { settings } = policy
    const canary = decision.rolloutId === null ? null : await rollouts.find(decision.rolloutId)
    if (canary === null) return end(decision, policy, 'rolled_back', 'The canary rollout was deleted.')
    if (canary.status === 'rolled_back') {
      return end(decision, policy, 'rolled_back', canary.reason ?? 'The canary rollout was rolled back.')
    }
    // Somebody has paused it, and will say how it goes on.
    if (canary.status === 'paused') return
    const measured = await decisionsStore.measured(database.sql, {
      rolloutId: canary.id,
      modelId: policy.modelId,
      since: decision.createdAt,
    })
    const isOver = now().getTime() >= decision.createdAt.getTime() + settings.observeMinutes * 60_000
    const hasLooked = decision.record.comparisons.length > 0
    if (!isOver && (hasLooked || !isJudgeable(measured.canary, measured.current, settings))) return
    const { verdict, comparisons } = judge(measured.canary, measured.current, settings)
    const seen: StoredDecision = { ...decision, record: { ...decision.record, comparisons } }
    const findings = comparisons.map(explain).join(' ') || 'No device measured accuracy or loss.'
    if (verdict === 'promote') return end(seen, policy, 'promoted', `No worse than the current version. ${findings}`)
    if (verdict === 'roll_back') return end(seen, policy, 'rolled_back', `Worse than the current version. ${findings}`)
    if (isOver) {
      const reason = `Inconclusive after ${settings.observeMinutes} minutes, so nothing was promoted. ${findings}`
      return end(seen, policy, 'rolled_back', reason)
    }
    await database.transaction(async (tx) => {
      if (await decisionsStore.lockObserving(tx, seen.id)) await decisionsStore.decide(tx, seen)
    })
  }

  const end = (
    decision: StoredDecision,
    policy: StoredPolicy,
    status: Exclude<DecisionStatus, 'observing'>,
    reason: string,
  ): Promise<void> =>
    plans.change(async (tx, bump) => {
      if (!(await decisionsStore.lockObserving(tx, decision.id))) return
      const { settings } = policy
      let promotionRolloutId: string | null = null
      if (decision.rolloutId !== null) {
        const ended = await rollouts.end(
          tx,
          bump,
          decision.rolloutId,
          status === 'promoted' ? 'reach' : 'rollback',
          reason,
        )
        const model = await models.known(policy.modelId, tx)
        // An operator was faster: the canary is gone, and what it showed is promoted to nobody.
        if (status === 'promoted' && (ended === null || model === null)) return
        if (status === 'promoted' && model !== null) {
          const promotion = await rollouts.launch(tx, bump, model, {
            version: decision.version,
            percentage: settings.canaryGroupId === null ? settings.canaryPercentage : settings.incrementStep,
            targetPercentage: 100,
            incrementStep: settings.incrementStep,
            stepIntervalSeconds: settings.stepIntervalSeconds,
            groupId: null,
            autoRollback: true,
            startImmediately: true,
          })
          promotionRolloutId = promotion.id
        }
      }
      const record = { ...decision.record, promotionRolloutId, reason }
      await decisionsStore.decide(tx, { ...decision, status, record, decidedAt: now() })
      await announce(tx, policy, status)
    })

  /** Ends the observations that are due, and takes up what finished rounds have brought. */
  const tick = async (): Promise<void> => {
    for (const { decision, policy } of await decisionsStore.observing(database.sql)) {
      await safely(policy, () => conclude(decision, policy))
    }
    for (const policy of await store.enabled(database.sql)) await safely(policy, () => begin(policy))
  }

  /** One policy that cannot act must not keep the others from acting. */
  const safely = async (policy: StoredPolicy, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      log.error({ policy_id: policy.id, err: error }, 'a policy could not act; it will be retried')
    }
  }

  return {
    find,
    tick,

    /** Training says this way which rounds there are to decide on, when it is created. */
    followRounds(answer: UndecidedRound): void {
      undecided = answer
    },

    /** Those of every model that the caller sees, each with its model. */
    async list(caller: Caller) {
      const found = await store.list(database.sql, caller.orgId)
      return Promise.all(found.map(async (policy) => ({ policy, model: await models.known(policy.modelId) })))
    },

    async set(caller: Caller, modelIdOrName: string, wanted: WantedPolicy): Promise<StoredPolicy> {
      const { model } = await models.find(caller, modelIdOrName)
      const { enabled, canaryGroup, ...settings } = wanted
      const group = canaryGroup === undefined ? null : await groups.locate(caller, canaryGroup)
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
        const saved = await store.save(tx, policy)
        await announce(tx, saved, enabled ? 'enabled' : 'disabled')
        return saved
      })
    },

    /** What it has begun to observe is not observed any more; its canary stays, for the operator to end. */
    async delete(caller: Caller, modelIdOrName: string): Promise<StoredPolicy> {
      const policy = await find(caller, modelIdOrName)
      await database.transaction(async (tx) => {
        await store.delete(tx, policy.id)
        await announce(tx, policy, 'deleted')
      })
      return policy
    },

    async decisions(caller: Caller, modelIdOrName: string, page: { limit: number; offset: number }) {
      const policy = await find(caller, modelIdOrName)
      await tick()
      return decisionsStore.decisions(database.sql, policy.id, page)
    },
  }
}

export type PoliciesService = ReturnType<typeof createPoliciesService>
