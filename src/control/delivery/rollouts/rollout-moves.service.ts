import { withoutDevicesWords } from '../../../domain/failure-reasons.ts'
import {
  dueEvent,
  hasReached,
  heardSince,
  mayEndEarly,
  type RolloutEvent,
  transition,
  unhealthyBecause,
} from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote, unaudited } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { createRetries } from '../../retries.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { rolloutsStore, type StoredRollout } from './rollouts.store.ts'

export interface Change {
  readonly reason?: string | undefined
  readonly percentage?: number
  /** The key that requested it; null for the service itself. */
  readonly actor: string | null
}

/** Returns the version that a rollout delivers. */
export const targetOf = ({
  modelId,
  version,
  versionNumber,
}: Pick<StoredRollout, 'modelId' | 'version' | 'versionNumber'>) => ({
  modelId,
  modelName: null,
  version,
  versionNumber,
})

/** Events that may bring a rollout to its target. */
const RAISING: readonly RolloutEvent[] = ['step', 'advance', 'set_percentage', 'promote']

/** Transitions of rollouts: by requests, by the clock, and by the reports of devices. */
export const createRolloutMoves = (
  context: Context,
  {
    plans,
    assignments,
  }: {
    readonly plans: DeliveryPlans
    readonly assignments: AssignmentsService
  },
) => {
  const { database, now, log } = context
  const attempt = createRetries(context, log, 'a due rollout could not be changed; it will be retried')

  /** Applies events in order to a row that the caller has locked. */
  const move = async (
    tx: Executor,
    bump: Bump,
    locked: StoredRollout,
    events: readonly RolloutEvent[],
    { reason, percentage, actor }: Change,
  ): Promise<StoredRollout> => {
    let rollout = locked
    const apply = async (event: RolloutEvent): Promise<void> => {
      const detail = {
        ...(reason === undefined ? {} : { reason }),
        ...(percentage === undefined ? {} : { percentage }),
        by: actor === null ? ('service' as const) : ('user' as const),
      }
      rollout = { ...rollout, ...transition(rollout, event, now(), detail), updatedAt: now() }
      await plans.record(
        tx,
        { kind: 'rollout', ...rollout },
        {
          at: now(),
          event,
          status: rollout.status,
          percentage: rollout.percentage,
          reason: reason ?? null,
          actor,
        },
      )
      if (RAISING.includes(event) && hasReached(rollout)) await apply('reach')
    }
    for (const event of events) await apply(event)
    const revision = await bump()
    if (events.includes('start')) rollout = { ...rollout, startedRevision: revision }
    await rolloutsStore.update(tx, rollout)
    if (actor !== null) auditNote({ kind: 'rollout', ...rollout, before: auditedOf(locked), after: auditedOf(rollout) })
    return rollout
  }

  /** Does what is due for one rollout: pauses it or rolls it back for failing health, steps it, or completes it. */
  const attend = (id: string): Promise<void> =>
    unaudited(() =>
      plans.change(async (tx, bump) => {
        const rollout = await rolloutsStore.lock(tx, id)
        if (rollout === null || rollout.status !== 'active') return
        const health = await assignments.healthOf(tx, id, rollout.healthSince)
        const runsEverywhere =
          mayEndEarly(rollout) && (await assignments.runsEverywhere(tx, rollout, heardSince(rollout, now())))
        const event = dueEvent(rollout, health, runsEverywhere, now())
        if (event === null) return
        if (event === 'fail_health') {
          const reason = unhealthyBecause(health) ?? ''
          const events = rollout.autoRollback ? (['fail_health', 'rollback'] as const) : (['fail_health'] as const)
          await move(tx, bump, rollout, events, { reason, actor: null })
        } else if (await plans.isUploaded(targetOf(rollout), tx)) {
          await move(tx, bump, rollout, [event], { actor: null })
        } else {
          // The version is not uploaded, so no device has tried it: keeps the percentage, so that its first devices come first.
          const nextStepAt = new Date(now().getTime() + rollout.stepIntervalSeconds * 1000)
          await rolloutsStore.update(tx, { ...rollout, nextStepAt })
        }
      }),
    )

  /** Attends to every due rollout. Called by a timer and before reads, so that reads never lag behind the clock. */
  const tick = async (): Promise<void> => {
    for (const id of await rolloutsStore.due(database.sql, now()))
      await attempt(id, { rollout_id: id }, () => attend(id))
  }

  return {
    move,
    attend,
    tick,

    /** Calls `attend` if devices' reports may complete, pause, or roll back the rollout. */
    async reported(id: string): Promise<void> {
      const rollout = await rolloutsStore.find(database.sql, id)
      if (rollout?.status !== 'active') return
      const mayEnd = rollout.percentage === 100
      if (mayEnd || (await assignments.healthOf(database.sql, id, null)).failed > 0) await attend(id)
    },
  }
}

/** Returns the fields of a rollout in the audit log. */
export const auditedOf = ({
  modelId,
  version,
  status,
  percentage,
  targetPercentage,
  groupId,
  reason,
}: StoredRollout) => ({
  modelId,
  version,
  status,
  percentage,
  targetPercentage,
  groupId,
  reason: reason && withoutDevicesWords(reason),
})

export type RolloutMoves = ReturnType<typeof createRolloutMoves>
