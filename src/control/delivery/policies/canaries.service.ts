import { labelOf } from '../../../domain/model.ts'
import { NO_STEPS_SECONDS } from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { RolloutsService } from '../rollouts/rollouts.service.ts'
import { decisionsStore } from './decisions.store.ts'
import { policiesStore, type StoredPolicy } from './policies.store.ts'

export interface FinishedRound {
  readonly id: string
  readonly roundNumber: number
  readonly aggregatedModelId: string
}

/** Rounds that end out of order, or become visible late, are found after this time. */
const EXAMINED_MS = 60_000

/** The rounds of the policy's organization. Training implements it. */
export interface FinishedRounds {
  /** The number of the newest completed round; null if there is none. */
  newest(db: Executor, policy: StoredPolicy): Promise<number | null>
  /**
   * Finds the newest round that was trained from the policy's model or its descendants, ended since the policy was set, and
   * came after all rounds that the policy has decided on. It reads all rounds since the first that the model was trained in.
   */
  undecided(db: Executor, policy: StoredPolicy): Promise<FinishedRound | null>
}

export interface PolicyParts {
  readonly plans: DeliveryPlans
  readonly models: ModelsService
  readonly roundResults: Pick<RoundResults, 'publish'>
  readonly rollouts: RolloutsService
  readonly groups: Pick<GroupsService, 'locate'>
}

/** True if the policy's canary would have no devices: its group no longer exists. */
export const hasLostGroup = async (
  groups: PolicyParts['groups'],
  { settings: { canaryGroupId } }: Pick<StoredPolicy, 'settings'>,
): Promise<boolean> => canaryGroupId !== null && (await groups.locate({ orgId: null }, canaryGroupId)) === null

/** Tries the result of a finished round: publishes it as a version, and rolls that out to a canary group. */
export const createCanaries = (
  { database, now, newId }: Context,
  { plans, models, roundResults, rollouts, groups }: PolicyParts,
) => {
  let rounds: FinishedRounds = { newest: async () => null, undecided: async () => null }
  /** By model: the newest round, and the policy that had nothing to try up to it at this time. */
  const examined = new Map<string, { readonly upTo: string; readonly at: number }>()

  /** Tries the newest undecided round of the policy's model, unless another is still being observed or the group is gone. */
  const begin = async (policy: StoredPolicy): Promise<void> => {
    const { settings } = policy
    if ((await decisionsStore.observing(database.sql, policy.id)).length > 0 || (await hasLostGroup(groups, policy)))
      return
    const upTo = `${policy.id} ${policy.orgId} ${await rounds.newest(database.sql, policy)}`
    const last = examined.get(policy.modelId)
    if (last?.upTo === upTo && performance.now() - last.at < EXAMINED_MS) return
    const round = await rounds.undecided(database.sql, policy)
    const origin = round && (await models.originOf(round.aggregatedModelId, 1))
    const model = await models.known(policy.modelId)
    if (round === null || origin === null || model === null)
      return void examined.set(policy.modelId, { upTo, at: performance.now() })
    await plans.change(async (tx, bump) => {
      // Another process was faster and has stored a decision.
      if ((await policiesStore.lockEnabled(tx, policy.id)) === null) return
      if ((await rounds.undecided(tx, policy))?.id !== round.id) return
      // If the round's job has published it, this is that version.
      const published = await roundResults.publish(tx, model.id, {
        modelId: round.aggregatedModelId,
        roundId: round.id,
        roundNumber: round.roundNumber,
        jobId: null,
        metrics: {},
      })
      if (published === null) return
      const version = labelOf(published.version, published.ownLabel)
      const canary = await rollouts.launch(tx, bump, model, {
        version,
        versionNumber: published.version,
        percentage: settings.canaryPercentage,
        targetPercentage: settings.canaryPercentage,
        incrementStep: settings.incrementStep,
        // Only the policy's verdict ends it.
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
        version,
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

  return {
    begin,

    /** Training, which is created later, passes its queries here. */
    followRounds(finished: FinishedRounds): void {
      rounds = finished
    },
  }
}
