import { plural } from '../../../domain/plural.ts'
import { explain, isJudgeable, judge, marginsOf } from '../../../domain/policy.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { createRetries } from '../../retries.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { StoredRollout } from '../rollouts/rollouts.service.ts'
import { createCanaries, hasLostGroup, type PolicyParts } from './canaries.service.ts'
import { type DecisionStatus, decisionsStore, type StoredDecision } from './decisions.store.ts'
import { policiesStore, type StoredPolicy } from './policies.store.ts'

/** `status` is the policy's new state, or its verdict on a version. */
export const announcePolicy = (
  plans: DeliveryPlans,
  tx: Executor,
  { id, orgId, modelId }: StoredPolicy,
  status: string,
): Promise<void> => plans.planChanged(tx, { kind: 'policy', id, orgId, modelId, status })

/** True if an operator has completed the rollout on all devices. */
const hasReachedAll = ({ status, percentage, groupId }: StoredRollout): boolean =>
  status === 'completed' && percentage === 100 && groupId === null

/** Decides on canaries: promotes them or rolls them back. */
export const createPolicyDecisions = (context: Context, parts: PolicyParts) => {
  const { database, log, now } = context
  const { plans, models, rollouts, groups } = parts
  const { begin, followRounds } = createCanaries(context, parts)
  const attempt = createRetries(context, log, 'a policy could not act; it will be retried')

  const unmeasured = async (policy: StoredPolicy, metrics: readonly string[]): Promise<string> =>
    (await hasLostGroup(groups, policy))
      ? 'The canary group was deleted: set another.'
      : `No device measured ${metrics.join(' or ')}.`

  /** Judges a canary at most twice, because more looks give chance more weight: when enough have measured, and at the end. */
  const conclude = async (decision: StoredDecision, policy: StoredPolicy): Promise<void> => {
    const { settings } = policy
    const canary = decision.rolloutId === null ? null : await rollouts.find(decision.rolloutId)
    if (canary === null) return end(decision, policy, 'rolled_back', 'The canary rollout was deleted.', null)
    if (canary.status === 'rolled_back') {
      return end(decision, policy, 'rolled_back', canary.reason ?? 'The canary rollout was rolled back.', canary)
    }
    // An operator has paused it, and decides how it continues.
    if (canary.status === 'paused') return
    if (hasReachedAll(canary)) {
      const reason = 'An operator completed the canary on all devices, so there was nothing left to compare or promote.'
      return end(decision, policy, 'promoted', reason, canary)
    }
    const metrics = Object.keys(marginsOf(settings))
    const measured = await decisionsStore.measured(
      database.sql,
      { rolloutId: canary.id, modelId: policy.modelId, since: decision.createdAt },
      metrics,
    )
    const isOver = now().getTime() >= decision.createdAt.getTime() + settings.observeMinutes * 60_000
    const hasLooked = decision.record.comparisons.length > 0
    if (!isOver && (hasLooked || !isJudgeable(measured.canary, measured.current, settings))) return
    const { verdict, comparisons } = judge(measured.canary, measured.current, settings)
    const seen: StoredDecision = { ...decision, record: { ...decision.record, comparisons } }
    const findings = comparisons.map(explain).join(' ') || (await unmeasured(policy, metrics))
    if (verdict === 'promote')
      return end(seen, policy, 'promoted', `No worse than the current version. ${findings}`, canary)
    if (verdict === 'roll_back')
      return end(seen, policy, 'rolled_back', `Worse than the current version. ${findings}`, canary)
    if (isOver) {
      const reason = `Inconclusive after ${plural(settings.observeMinutes, 'minute')}, so nothing was promoted. ${findings}`
      return end(seen, policy, 'rolled_back', reason, canary)
    }
    await database.transaction(async (tx) => {
      if (await decisionsStore.lockObserving(tx, seen.id)) await decisionsStore.decide(tx, seen)
    })
  }

  /** Returns the rollout that delivers the version to all devices; null if the canary or the model is gone. */
  const promote = async (tx: Executor, bump: Bump, canary: StoredRollout, policy: StoredPolicy, reason: string) => {
    const { incrementStep, stepIntervalSeconds } = policy.settings
    const steps = { incrementStep, stepIntervalSeconds }
    // A canary of the fleet keeps its devices while it grows. One of a group cannot grow beyond it, and if one that an operator
    // has completed were active again, older plans would take precedence on its devices.
    if (canary.groupId === null && canary.status === 'active')
      return rollouts.promote(tx, bump, canary.id, steps, reason)
    const ended = await rollouts.end(tx, bump, canary.id, 'reach', reason)
    if (ended !== null && hasReachedAll(ended)) return ended
    const model = await models.known(policy.modelId, tx)
    if (ended === null || model === null) return null
    return rollouts.launch(tx, bump, model, {
      version: ended.version,
      versionNumber: ended.versionNumber,
      percentage: incrementStep,
      targetPercentage: 100,
      ...steps,
      groupId: null,
      autoRollback: true,
      startImmediately: true,
    })
  }

  const end = (
    decision: StoredDecision,
    policy: StoredPolicy,
    status: Exclude<DecisionStatus, 'observing'>,
    reason: string,
    canary: StoredRollout | null,
  ): Promise<void> =>
    plans.change(async (tx, bump) => {
      if (!(await decisionsStore.lockObserving(tx, decision.id))) return
      let promotionRolloutId: string | null = null
      if (canary !== null) {
        const ended =
          status === 'promoted'
            ? await promote(tx, bump, canary, policy, reason)
            : await rollouts.end(tx, bump, canary.id, 'rollback', reason)
        // An operator or another process was faster: the next tick sees the canary as they left it.
        if (status === 'promoted' && ended === null) return
        if (status === 'promoted') promotionRolloutId = ended?.id ?? null
      }
      const record = { ...decision.record, promotionRolloutId, reason }
      await decisionsStore.decide(tx, { ...decision, status, record, decidedAt: now() })
      await announcePolicy(plans, tx, policy, status)
    })

  /** Ends the observations that are due, and tries the results of finished rounds. */
  const tick = async (): Promise<void> => {
    for (const { decision, policy } of await decisionsStore.observing(database.sql)) {
      await attempt(decision.id, { policy_id: policy.id }, () => conclude(decision, policy))
    }
    for (const policy of await policiesStore.enabled(database.sql))
      await attempt(policy.id, { policy_id: policy.id }, () => begin(policy))
  }

  return { tick, followRounds }
}
