import type { Database, Executor } from '../../db/open.ts'
import type { Caller } from '../../domain/access.ts'
import { badRequest, notFound } from '../../domain/errors.ts'
import { isUuid, labelOf } from '../../domain/model.ts'
import {
  dueEvent,
  foresee,
  hasReached,
  type RolloutEvent,
  requireSteps,
  type Steps,
  transition,
  unhealthyBecause,
} from '../../domain/rollout.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { DevicesService } from '../devices/devices.service.ts'
import type { ModelsService, StoredModel } from '../models/models.service.ts'
import type { RolloutsStore, StoredRollout } from './rollouts.store.ts'

export type { StoredRollout } from './rollouts.store.ts'

export interface NewRollout extends Steps {
  readonly version: string
  /** Id or name of a device group. */
  readonly group: string | undefined
  readonly autoRollback: boolean
  readonly startImmediately: boolean
}

interface Change {
  readonly reason?: string | undefined
  readonly percentage?: number
  /** The key that asked for it; null: the service itself. */
  readonly actor: string | null
}

const TICKED_AT_ONCE = 100

/** Staged delivery of one version of a model: created, stepped by the clock while health holds, steered by operators. */
export const createRolloutsService = (parts: {
  readonly database: Database
  readonly store: RolloutsStore
  readonly plans: DeliveryPlans
  readonly assignments: AssignmentsService
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, plans, assignments, models, devices, now, newId } = parts

  const targetOf = ({ modelId, version }: StoredRollout) => ({ modelId, modelName: null, version })

  /** One event after another, on a row that the caller has locked. */
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
      }
      rollout = { ...rollout, ...transition(rollout, event, now(), detail), updatedAt: now() }
      await plans.record(tx, rollout.id, {
        at: now(),
        event,
        status: rollout.status,
        percentage: rollout.percentage,
        reason: reason ?? null,
        actor,
      })
      if (RAISING.includes(event) && hasReached(rollout)) await apply('reach')
    }
    for (const event of events) await apply(event)
    const revision = await bump()
    if (events.includes('start')) rollout = { ...rollout, startedRevision: revision }
    await store.update(tx, rollout)
    return rollout
  }

  /** Does what is due of one rollout: pauses it for its health, steps it, or completes it. */
  const attend = (id: string): Promise<void> =>
    plans.change(async (tx, bump) => {
      const rollout = await store.lock(tx, id)
      if (rollout === null || rollout.status !== 'active') return
      const health = await assignments.healthOf(tx, id, rollout.healthSince)
      const event = dueEvent(rollout, health, now())
      if (event === null) return
      if (event === 'fail_health') {
        const reason = unhealthyBecause(health) ?? ''
        const events = rollout.autoRollback ? (['fail_health', 'rollback'] as const) : (['fail_health'] as const)
        await move(tx, bump, rollout, events, { reason, actor: null })
      } else if (await plans.isUploaded(targetOf(rollout), tx)) {
        await move(tx, bump, rollout, [event], { actor: null })
      } else {
        // Nobody can have tried a version that is not there: its first devices come first, once it is.
        const nextStepAt = new Date(now().getTime() + rollout.stepIntervalSeconds * 1000)
        await store.update(tx, { ...rollout, nextStepAt })
      }
    })

  /** Moves every due rollout on. Called by a timer and before reads, so that what is read never lags the clock. */
  const tick = async (): Promise<void> => {
    for (;;) {
      const due = await store.due(database.sql, now(), TICKED_AT_ONCE)
      for (const id of due) await attend(id)
      if (due.length < TICKED_AT_ONCE) return
    }
  }

  /** The rollout of this model, brought up to the clock; not_found when the caller may not see it. */
  const get = async (
    caller: Caller,
    modelIdOrName: string,
    id: string,
  ): Promise<{ rollout: StoredRollout; model: StoredModel }> => {
    const { model } = await models.find(caller, modelIdOrName)
    const find = async () => (isUuid(id) ? store.find(database.sql, id) : null)
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

  const groupOf = async (wanted: string | undefined, orgId: string | null) => {
    if (wanted === undefined) return null
    const group = await store.findGroup(database.sql, wanted, orgId)
    if (group === null)
      throw badRequest(`group: there is no device group '${wanted}'. Create it first, or leave it out.`)
    return group
  }

  /** `latest` is what it is now: a later upload must not slip into a rollout that is under way. */
  const pinVersion = async (model: StoredModel, version: string): Promise<string> => {
    if (version !== 'latest') return version
    const newest = await models.newestVersion(model.id)
    if (newest === null)
      throw badRequest('version: the model has no version yet. Upload one, or name the version to come.')
    return labelOf(newest.version, newest.ownLabel)
  }

  const warningsOf = async (rollout: Pick<StoredRollout, 'modelId' | 'version' | 'groupId'>): Promise<string[]> => {
    const warnings: string[] = []
    if (!(await plans.isUploaded({ modelId: rollout.modelId, modelName: null, version: rollout.version }))) {
      warnings.push(`No upload carries version ${rollout.version} yet: devices are offered nothing until one does.`)
    }
    if (rollout.groupId !== null && (await store.findGroup(database.sql, rollout.groupId, null)) === null) {
      warnings.push('The device group does not exist any more: the rollout reaches nobody.')
    }
    return warnings
  }

  return {
    tick,
    get,
    warningsOf,

    /** Looks after those of these plans that are running rollouts: devices have just reported on them. */
    async reported(planIds: ReadonlySet<string>): Promise<void> {
      for (const id of planIds) {
        const plan = plans.find(id)
        if (plan?.kind !== 'rollout' || plan.settled) continue
        if ((await assignments.healthOf(database.sql, id, null)).failed > 0) await attend(id)
      }
    },

    async create(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(wanted.group, caller.orgId)
      const version = await pinVersion(model, wanted.version)
      const pending: StoredRollout = {
        id: newId(),
        orgId: model.orgId,
        modelId: model.id,
        version,
        status: 'pending',
        percentage: wanted.percentage,
        initialPercentage: wanted.percentage,
        targetPercentage: wanted.targetPercentage,
        incrementStep: wanted.incrementStep,
        stepIntervalSeconds: wanted.stepIntervalSeconds,
        groupId: group?.id ?? null,
        autoRollback: wanted.autoRollback,
        reason: null,
        nextStepAt: null,
        healthSince: null,
        startedRevision: null,
        createdAt: now(),
        startedAt: null,
        endedAt: null,
        updatedAt: now(),
      }
      const actor = caller.keyId
      const rollout = await plans.change(async (tx, bump) => {
        await store.insert(tx, pending)
        const { percentage, createdAt: at } = pending
        await plans.record(tx, pending.id, { at, event: 'create', status: 'pending', percentage, reason: null, actor })
        return wanted.startImmediately ? move(tx, bump, pending, ['start'], { actor }) : pending
      })
      return { rollout, model }
    },

    /** What an operator does to a rollout. @throws conflict when it has no place in the rollout's status. */
    async steer(
      caller: Caller,
      modelIdOrName: string,
      id: string,
      event: 'start' | 'pause' | 'resume' | 'advance' | 'rollback' | 'set_percentage',
      change: Omit<Change, 'actor'> = {},
    ) {
      const { model } = await get(caller, modelIdOrName, id)
      const rollout = await plans.change(async (tx, bump) => {
        const locked = await store.lock(tx, id)
        if (locked === null) throw notFound('Rollout', id, `of model '${modelIdOrName}'`)
        return move(tx, bump, locked, [event], { ...change, actor: caller.keyId })
      })
      return { rollout, model }
    },

    /** Cancels and deletes it: its devices get what they got before. Its history stays. */
    async delete(caller: Caller, modelIdOrName: string, id: string): Promise<void> {
      await get(caller, modelIdOrName, id)
      await plans.change(async (tx, bump) => {
        const locked = await store.lock(tx, id)
        if (locked === null) throw notFound('Rollout', id, `of model '${modelIdOrName}'`)
        await store.delete(tx, id)
        await assignments.forget(tx, id)
        await plans.record(tx, id, {
          at: now(),
          event: 'delete',
          status: 'deleted',
          percentage: locked.percentage,
          reason: null,
          actor: caller.keyId,
        })
        await bump()
      })
    },

    async active(caller: Caller): Promise<StoredRollout[]> {
      await tick()
      return store.active(database.sql, caller.orgId)
    },

    async list(caller: Caller, modelIdOrName: string, page: { limit: number; offset: number }) {
      const { model } = await models.find(caller, modelIdOrName)
      await tick()
      return { model, ...(await store.ofModel(database.sql, model.id, page)) }
    },

    async history(caller: Caller, modelIdOrName: string, id: string, page: { limit: number; offset: number }) {
      await get(caller, modelIdOrName, id)
      return plans.history(id, page)
    },

    async affected(caller: Caller, modelIdOrName: string, id: string, page: { limit: number; offset: number }) {
      const { rollout } = await get(caller, modelIdOrName, id)
      return assignments.affectedBy(rollout, page)
    },

    /** How the rollout would go if health held throughout; nothing is created. */
    async foresee(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(wanted.group, caller.orgId)
      const version = await pinVersion(model, wanted.version)
      const total = group?.deviceCount ?? (await devices.census(caller)).total
      const steps = foresee(wanted).map(({ atSeconds, percentage }) => ({
        atSeconds,
        percentage,
        devices: Math.round((total * percentage) / 100),
      }))
      const warnings = await warningsOf({ modelId: model.id, version, groupId: group?.id ?? null })
      return { model, version, steps, total, warnings }
    },
  }
}

/** After these, a rollout may be at its target. */
const RAISING: readonly RolloutEvent[] = ['step', 'advance', 'set_percentage']

export type RolloutsService = ReturnType<typeof createRolloutsService>
