import { isDeepStrictEqual } from 'node:util'
import { actorOf, type Caller } from '../../../domain/access.ts'
import { isFleetWide, WILL_WAIT } from '../../../domain/approval.ts'
import { badRequest, conflict, inBody } from '../../../domain/errors.ts'
import { previewSchedule, requireSteps, type Steps } from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals } from '../../access/approvals/approvals.service.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { auditedOf, type RolloutMoves, targetOf } from './rollout-moves.service.ts'
import type { RolloutsStore, StoredRollout } from './rollouts.store.ts'

interface Wanted extends Steps {
  readonly version: string
  readonly autoRollback: boolean
  readonly startImmediately: boolean
}

export interface NewRollout extends Wanted {
  /** Id or name of a device group. */
  readonly group: string | undefined
}

export interface Launch extends Wanted {
  /** Null until the version is uploaded. */
  readonly versionNumber: number | null
  readonly groupId: string | null
}

interface Parts {
  readonly store: RolloutsStore
  readonly plans: DeliveryPlans
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly groups: Pick<GroupsService, 'locate'>
  readonly move: RolloutMoves['move']
  readonly approvals: Approvals
  readonly settings: Pick<SettingsService, 'of'>
  readonly now: () => Date
  readonly newId: () => string
}

interface Waiting {
  readonly rolloutId: string
  readonly modelId: string
  /** The settings when the start was requested; the approval fails if they have changed. */
  readonly as: object
  /** The upload to deliver; absent in requests of earlier releases, which did not record it. */
  readonly versionNumber?: number | null
}

const asRequested = (rollout: StoredRollout): object => ({
  version: rollout.version,
  percentage: rollout.percentage,
  targetPercentage: rollout.targetPercentage,
  incrementStep: rollout.incrementStep,
  stepIntervalSeconds: rollout.stepIntervalSeconds,
  groupId: rollout.groupId,
  autoRollback: rollout.autoRollback,
})

/** Makes the start of a rollout wait for a second admin if it names no group, or one with more than half of the devices. */
export const createRolloutApprovals = (parts: Parts) => {
  const { store, plans, models, devices, groups, approvals, move } = parts

  approvals.handle<Waiting>('rollout_start', {
    async carryOut(requester, { rolloutId, modelId, as, versionNumber }, settle) {
      await models.find(requester, modelId)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await store.lock(tx, rolloutId)
        if (locked === null) throw conflict('The rollout was deleted.')
        if (!isDeepStrictEqual(asRequested(locked), as)) throw conflict('The rollout has changed since the request.')
        if (versionNumber === undefined)
          throw conflict('An earlier release recorded this request without the upload. Request it again.')
        const offer = await plans.offerOf(
          targetOf({ ...locked, versionNumber: locked.versionNumber ?? versionNumber }),
          tx,
        )
        if (offer === null || offer.versionNumber !== versionNumber)
          throw conflict(`Version ${locked.version} is not the upload that was requested. Create another rollout.`)
        await move(tx, bump, { ...locked, versionNumber }, ['start'], { actor: actorOf(requester) })
      })
    },
  })

  return {
    async isNeeded({ orgId }: Pick<StoredModel, 'orgId'>, groupId: string | null): Promise<boolean> {
      if (!(await approvals.isNeeded(orgId))) return false
      const group = groupId === null ? null : await groups.locate({ orgId }, groupId)
      return groupId === null || isFleetWide(group?.deviceCount ?? 0, (await devices.census({ orgId })).total)
    },

    /** Call it in the transaction that creates the rollout or would start it. */
    async request(tx: Executor, caller: Caller, model: StoredModel, rollout: StoredRollout): Promise<void> {
      const { id, modelId, version, percentage, targetPercentage } = rollout
      const offer = await plans.offerOf(targetOf(rollout), tx)
      if (offer === null) throw badRequest('version: a version that needs approval must be uploaded first.')
      const { versionNumber } = offer
      const payload: Waiting = { rolloutId: id, modelId, as: asRequested(rollout), versionNumber }
      await approvals.request(tx, caller, {
        orgId: model.orgId!,
        kind: 'rollout_start',
        subject: id,
        title: `Roll out version ${version} of '${model.name ?? modelId}' to ${percentage}% and up to ${targetPercentage}%`,
        payload: { ...payload },
      })
    },

    /** Returns the warnings about a rollout that waits for approval. */
    async warningsOf({ id, orgId, status }: Pick<StoredRollout, 'id' | 'orgId' | 'status'>): Promise<string[]> {
      const waiting = status === 'pending' && orgId !== null ? await approvals.pendingOf('rollout_start', id) : null
      if (waiting === null) return []
      const wait = `Its start waits for another admin: svc approvals approve ${waiting}`
      return [wait, ...(await approvals.warningsOf(orgId!))]
    },
  }
}

/** Creates rollouts: version, devices, and steps. */
export const createRolloutLaunches = (parts: Parts, waits: ReturnType<typeof createRolloutApprovals>) => {
  const { store, plans, models, devices, groups, move, settings, now, newId } = parts

  const groupOf = async ({ orgId }: StoredModel, wanted: string | undefined) => {
    if (wanted === undefined) return null
    const group = await groups.locate({ orgId }, wanted)
    if (group === null)
      throw badRequest(`group: there is no device group '${wanted}'. Create it first, or leave it out.`)
    return group
  }

  /** Pins the version's current label and number: a later upload or a moved alias must not change a running rollout. */
  const pinVersion = async (caller: Caller, model: StoredModel, wanted: string) => {
    const { label, version: uploaded } = await inBody('version', () => models.resolve(caller, model.id, wanted))
    if (label === 'latest')
      throw badRequest('version: the model has no version yet. Upload one, or name the version that you will upload.')
    return { version: label, versionNumber: uploaded?.version ?? null }
  }

  const warningsOf = async (
    rollout: Pick<StoredRollout, 'modelId' | 'version' | 'versionNumber' | 'groupId'> & Partial<StoredRollout>,
  ): Promise<string[]> => {
    const { id, orgId = null, status } = rollout
    const warnings = id === undefined || status === undefined ? [] : await waits.warningsOf({ id, orgId, status })
    if (!(await plans.isUploaded(targetOf(rollout)))) {
      warnings.push(`Version ${rollout.version} is not uploaded yet: devices get nothing until it is.`)
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
      versionNumber: wanted.versionNumber,
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
    if (actor !== null) auditNote({ kind: 'rollout', ...pending, after: auditedOf(pending) })
    const { percentage, createdAt: at } = pending
    await plans.record(
      tx,
      { kind: 'rollout', ...pending },
      { at, event: 'create', status: 'pending', percentage, reason: null, actor },
    )
    return wanted.startImmediately ? move(tx, bump, pending, ['start'], { actor }) : pending
  }

  return {
    warningsOf,

    async create(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(model, wanted.group)
      const pinned = await pinVersion(caller, model, wanted.version)
      const mustRollBack = model.orgId !== null && (await settings.of(model.orgId)).automaticRollback
      const autoRollback = wanted.autoRollback || mustRollBack
      const groupId = group?.id ?? null
      const mustWait = wanted.startImmediately && (await waits.isNeeded(model, groupId))
      const startImmediately = wanted.startImmediately && !mustWait
      const rollout = await plans.change(async (tx, bump) => {
        const asked = { ...wanted, ...pinned, autoRollback, groupId, startImmediately }
        const created = await launch(tx, bump, model, asked, actorOf(caller))
        if (mustWait) await waits.request(tx, caller, model, created)
        return created
      })
      return { rollout, model }
    },

    /** Creates a rollout on behalf of the service, in a transaction of `plans.change`. */
    launch: (tx: Executor, bump: Bump, model: StoredModel, wanted: Launch): Promise<StoredRollout> =>
      launch(tx, bump, model, wanted, null),

    /** Returns how the rollout would proceed if it stayed healthy. Creates nothing. */
    async previewSchedule(caller: Caller, modelIdOrName: string, wanted: NewRollout) {
      const { model } = await models.find(caller, modelIdOrName)
      requireSteps(wanted)
      const group = await groupOf(model, wanted.group)
      const pinned = await pinVersion(caller, model, wanted.version)
      const total = group?.deviceCount ?? (await devices.census(model)).total
      const steps = previewSchedule(wanted).map(({ atSeconds, percentage }) => ({
        atSeconds,
        percentage,
        devices: Math.round((total * percentage) / 100),
      }))
      const groupId = group?.id ?? null
      const mustWait = wanted.startImmediately && (await waits.isNeeded(model, groupId))
      const warnings = [
        ...(mustWait ? [WILL_WAIT] : []),
        ...(await warningsOf({ modelId: model.id, ...pinned, groupId })),
      ]
      return { model, version: pinned.version, steps, total, warnings }
    },
  }
}
