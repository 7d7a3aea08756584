import type { Caller } from '../../../domain/access.ts'
import { badRequest, inBody, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { NEXT, previewSchedule, type RolloutStatus, requireSteps, type Steps } from '../../../domain/rollout.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { type Change, createRolloutMoves } from './rollout-moves.service.ts'
import type { RolloutsStore, StoredRollout } from './rollouts.store.ts'

export type { StoredRollout } from './rollouts.store.ts'

interface Wanted extends Steps {
  readonly version: string
  readonly autoRollback: boolean
  readonly startImmediately: boolean
}

export interface NewRollout extends Wanted {
  /** Id or name of a device group. */
  readonly group: string | undefined
}

/** With the model that it brings to devices. */
export interface RolloutDetail {
  readonly rollout: StoredRollout
  readonly model: StoredModel
}

export interface Launch extends Wanted {
  readonly groupId: string | null
}

/** Staged delivery of one version of a model: created, stepped by the clock while health holds, steered by operators. */
export const createRolloutsService = (parts: {
  readonly database: Database
  readonly store: RolloutsStore
  readonly plans: DeliveryPlans
  readonly assignments: AssignmentsService
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly groups: Pick<GroupsService, 'locate'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, plans, assignments, models, devices, groups, now, newId } = parts

  const { move, attend, tick, reported } = createRolloutMoves({ database, store, plans, assignments, now })

  /** The rollout of this model, brought up to the clock; not_found when the caller may not see it. */
  const get = async (caller: Caller, modelIdOrName: string, id: string): Promise<RolloutDetail> => {
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

  const groupOf = async (caller: Caller, wanted: string | undefined) => {
    if (wanted === undefined) return null
    const group = await groups.locate(caller, wanted)
    if (group === null)
      throw badRequest(`group: there is no device group '${wanted}'. Create it first, or leave it out.`)
    return group
  }

  /** The version as its label now: a later upload, or an alias that moves, must not slip into a rollout that is under way. */
  const pinVersion = async (caller: Caller, model: StoredModel, wanted: string): Promise<string> => {
    const { label } = await inBody('version', () => models.resolve(caller, model.id, wanted))
    if (label === 'latest')
      throw badRequest('version: the model has no version yet. Upload one, or name the version to come.')
    return label
  }

  const warningsOf = async (rollout: Pick<StoredRollout, 'modelId' | 'version' | 'groupId'>): Promise<string[]> => {
    const warnings: string[] = []
    if (!(await plans.isUploaded({ modelId: rollout.modelId, modelName: null, version: rollout.version }))) {
      warnings.push(`No upload carries version ${rollout.version} yet: devices get nothing until one does.`)
    }
    if (rollout.groupId !== null && (await groups.locate({ orgId: null }, rollout.groupId)) === null) {
      warnings.push('The device group no longer exists: the rollout has no devices.')
    }
    return warnings
  }

  const launch = async (
    tx: Executor,
    bump: Bump,
    model: StoredModel,
    wanted: Launch,
    actor: string | null,
  ): Promise<StoredRollout> => {
    const pending: StoredRollout = {
      id: newId(),
      orgId: model.orgId,
      modelId: model.id,
      version: wanted.version,
      status: 'pending',
      percentage: wanted.percentage,
      initialPercentage: wanted.percentage,
      targetPercentage: wanted.targetPercentage,
      incrementStep: wanted.incrementStep,
      stepIntervalSeconds: wanted.stepIntervalSeconds,
      groupId: wanted.groupId,
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
    await store.insert(tx, pending)
    const { percentage, createdAt: at } = pending
    await plans.record(
      tx,
      { kind: 'rollout', ...pending },
      { at, event: 'create', status: 'pending', percentage, reason: null, actor },
    )
    return wanted.startImmediately ? move(tx, bump, pending, ['start'], { actor }) : pending
  }

  return {
    tick,
    reported,
    get,
    warningsOf,

    async create(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(caller, wanted.group)
      const version = await pinVersion(caller, model, wanted.version)
      const rollout = await plans.change((tx, bump) =>
        launch(tx, bump, model, { ...wanted, version, groupId: group?.id ?? null }, caller.keyId),
      )
      return { rollout, model }
    },

    /** Inside a transaction of `plans.change`: a rollout of the service's own making. */
    launch: (tx: Executor, bump: Bump, model: StoredModel, wanted: Launch): Promise<StoredRollout> =>
      launch(tx, bump, model, wanted, null),

    /** The same for its end. Null when it is gone, or the event has no place in its status any more. */
    async end(tx: Executor, bump: Bump, id: string, event: 'reach' | 'rollback', reason: string) {
      const locked = await store.lock(tx, id)
      if (locked === null || NEXT[locked.status][event] === undefined) return null
      return move(tx, bump, locked, [event], { reason, actor: null })
    },

    /** The rollout as it stands; the service's own look-up, without a caller. */
    find: (id: string): Promise<StoredRollout | null> => store.find(database.sql, id),

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
        await plans.record(
          tx,
          { kind: 'rollout', ...locked },
          {
            at: now(),
            event: 'delete',
            status: 'deleted',
            percentage: locked.percentage,
            reason: null,
            actor: caller.keyId,
          },
        )
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
      return { model, ...(await store.list(database.sql, { modelId: model.id }, page)) }
    },

    /** Those of every model that the caller sees, each with its model; null when that is gone. */
    async listAll(caller: Caller, status: RolloutStatus | undefined, page: { limit: number; offset: number }) {
      await tick()
      const { orgId } = caller
      const filter = { ...(orgId !== null && { orgId }), ...(status !== undefined && { status }) }
      const { rollouts, total } = await store.list(database.sql, filter, page)
      const ids = [...new Set(rollouts.map(({ modelId }) => modelId))]
      const found = new Map(await Promise.all(ids.map(async (id) => [id, await models.known(id)] as const)))
      return { total, rollouts: rollouts.map((rollout) => ({ rollout, model: found.get(rollout.modelId) ?? null })) }
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
    async previewSchedule(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(caller, wanted.group)
      const version = await pinVersion(caller, model, wanted.version)
      const total = group?.deviceCount ?? (await devices.census(caller)).total
      const steps = previewSchedule(wanted).map(({ atSeconds, percentage }) => ({
        atSeconds,
        percentage,
        devices: Math.round((total * percentage) / 100),
      }))
      const warnings = await warningsOf({ modelId: model.id, version, groupId: group?.id ?? null })
      return { model, version, steps, total, warnings }
    },
  }
}

export type RolloutsService = ReturnType<typeof createRolloutsService>
