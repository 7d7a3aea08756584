import { actorOf, type Caller } from '../../../domain/access.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { ROLLOUT_TRANSITIONS } from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals } from '../../access/approvals/approvals.service.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import { runDue } from '../../periodic-tasks.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { createRolloutApprovals } from './rollout-approvals.service.ts'
import { auditedOf, type Change, createRolloutMoves } from './rollout-moves.service.ts'
import { createRolloutStarts } from './rollout-starts.service.ts'
import { type RolloutFilter, rolloutsStore, type StoredRollout } from './rollouts.store.ts'

export type { NewRollout } from './rollout-starts.service.ts'
export type { StoredRollout } from './rollouts.store.ts'

/** A rollout and the model that it delivers. */
export interface RolloutDetail {
  readonly rollout: StoredRollout
  readonly model: StoredModel
}

/** Staged delivery of one version of a model: the clock steps it while it is healthy, and operators control it. */
export const createRolloutsService = (
  context: Context,
  parts: {
    readonly plans: DeliveryPlans
    readonly assignments: AssignmentsService
    readonly models: ModelsService
    readonly devices: DevicesService
    readonly groups: Pick<GroupsService, 'locate'>
    readonly settings: Pick<SettingsService, 'of'>
    readonly approvals: Approvals
  },
) => {
  const { database, now } = context
  const { plans, assignments, models } = parts

  const { move, attend, tick, reported } = createRolloutMoves(context, parts)
  const waits = createRolloutApprovals({ ...parts, move })

  /** Returns the model's rollout, after doing what is due. @throws not_found if the caller may not see it */
  const get = async (caller: Caller, modelIdOrName: string, id: string): Promise<RolloutDetail> => {
    const { model } = await models.find(caller, modelIdOrName)
    const find = async () => (isUuid(id) ? rolloutsStore.find(database.sql, id) : null)
    let rollout = await find()
    if (rollout?.status === 'active') {
      await attend(id)
      rollout = await find()
    }
    if (rollout === null || rollout.modelId !== model.id) {
      throw notFound('Rollout', id, `of model '${modelIdOrName}'`)
    }
    return { rollout, model }
  }

  return {
    tick,
    resetTimesAhead: (): Promise<void> => rolloutsStore.resetTimesAhead(database.sql, now()),
    reported,
    get,
    ...createRolloutStarts(context, { ...parts, move }, waits),

    /**
     * Ends a rollout on behalf of the service. One that an operator has completed has already reached its end. Returns null
     * if it is gone, or its status no longer allows the event.
     */
    async end(tx: Executor, bump: Bump, id: string, event: 'reach' | 'rollback', reason: string) {
      const locked = await rolloutsStore.lock(tx, id)
      if (locked?.status === 'completed' && event === 'reach') return locked
      if (locked === null || ROLLOUT_TRANSITIONS[locked.status][event] === undefined) return null
      return move(tx, bump, locked, [event], { reason, actor: null })
    },

    /** Continues a policy's canary to all devices, by these steps. Returns null like `end`. */
    async promote(
      tx: Executor,
      bump: Bump,
      id: string,
      steps: Pick<StoredRollout, 'incrementStep' | 'stepIntervalSeconds'>,
      reason: string,
    ) {
      const locked = await rolloutsStore.lock(tx, id)
      if (locked === null || ROLLOUT_TRANSITIONS[locked.status].promote === undefined) return null
      return move(tx, bump, { ...locked, ...steps, targetPercentage: 100 }, ['promote'], { reason, actor: null })
    },

    /** Returns the rollout, for the service itself: there is no caller to check. */
    find: (id: string): Promise<StoredRollout | null> => rolloutsStore.find(database.sql, id),

    /** Applies an operator's action. @throws conflict if the rollout's status does not allow it */
    async applyAction(
      caller: Caller,
      modelIdOrName: string,
      id: string,
      event: 'start' | 'pause' | 'resume' | 'advance' | 'rollback' | 'set_percentage',
      change: Omit<Change, 'actor'> = {},
    ) {
      const { model, rollout: known } = await get(caller, modelIdOrName, id)
      if (event === 'start') await waits.requireGroup(known.groupId)
      const mayWait = (event === 'start' || event === 'set_percentage') && (await waits.isNeeded(model, known.groupId))
      const rollout = await plans.change(async (tx, bump) => {
        const locked = await rolloutsStore.lock(tx, id)
        if (locked === null) throw notFound('Rollout', id, `of model '${modelIdOrName}'`)
        if (mayWait && event === 'start' && locked.status === 'pending') {
          await waits.request(tx, caller, model, locked)
          return locked
        }
        if (mayWait && locked.status !== 'pending' && (change.percentage ?? 0) > locked.targetPercentage)
          throw conflict(`It is approved up to ${locked.targetPercentage}%. Create another rollout for more.`)
        const moved = await move(tx, bump, locked, [event], { ...change, actor: actorOf(caller) })
        // Nothing was checked while it was paused, although devices reported.
        if (event === 'resume') await assignments.recheck(tx, new Set([id]))
        return moved
      })
      return { rollout, model }
    },

    /** Cancels and deletes it: its devices get their previous version. Its history stays. */
    async delete(caller: Caller, modelIdOrName: string, id: string): Promise<void> {
      await get(caller, modelIdOrName, id)
      await plans.change(async (tx, bump) => {
        const locked = await rolloutsStore.lock(tx, id)
        if (locked === null) throw notFound('Rollout', id, `of model '${modelIdOrName}'`)
        await rolloutsStore.delete(tx, id)
        await waits.withdraw(tx, id)
        auditNote({ kind: 'rollout', ...locked, before: auditedOf(locked) })
        await assignments.forget(tx, id)
        await plans.record(
          tx,
          { kind: 'rollout', ...locked },
          {
            at: now(),
            event: 'delete',
            status: 'deleted',
            percentage: locked.percentage,
            reason: null,
            actor: actorOf(caller),
          },
        )
        await bump()
      })
    },

    async active(caller: Caller): Promise<StoredRollout[]> {
      await runDue(tick)
      return rolloutsStore.active(database.sql, caller.orgId)
    },

    async list(caller: Caller, modelIdOrName: string, page: { limit: number; offset: number }) {
      const { model } = await models.find(caller, modelIdOrName)
      await runDue(tick)
      return { model, ...(await rolloutsStore.list(database.sql, { modelId: model.id }, page)) }
    },

    /** Lists the rollouts of every model that the caller sees, each with its model, which is null if it was deleted. */
    async listAll({ orgId }: Caller, wanted: Omit<RolloutFilter, 'orgId'>, page: { limit: number; offset: number }) {
      await runDue(tick)
      const filter = { ...wanted, ...(orgId !== null && { orgId }) }
      const { rollouts, total } = await rolloutsStore.list(database.sql, filter, page)
      const known = await models.knownAll(rollouts.map(({ modelId }) => modelId))
      return { total, rollouts: rollouts.map((rollout) => ({ rollout, model: known.get(rollout.modelId) ?? null })) }
    },

    async history(caller: Caller, modelIdOrName: string, id: string, page: { limit: number; offset: number }) {
      await get(caller, modelIdOrName, id)
      return plans.history(id, page)
    },

    async affected(caller: Caller, modelIdOrName: string, id: string, page: { limit: number; offset: number }) {
      const { rollout } = await get(caller, modelIdOrName, id)
      return { rollout, ...(await assignments.affectedBy(rollout, page)) }
    },
  }
}

export type RolloutsService = ReturnType<typeof createRolloutsService>
