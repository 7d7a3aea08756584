import { actorOf, type Caller } from '../../../domain/access.ts'
import { WILL_WAIT } from '../../../domain/approval.ts'
import type { Plan } from '../../../domain/delivery-plan.ts'
import { badRequest, inBody } from '../../../domain/errors.ts'
import { previewSchedule, requireSteps, type Steps } from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { versionWarnings } from '../assignments/version-warnings.service.ts'
import { enumerate } from '../deployments/deployment-targets.service.ts'
import type { RolloutApprovals } from './rollout-approvals.service.ts'
import { auditedOf, type RolloutMoves, targetOf } from './rollout-moves.service.ts'
import { rolloutsStore, type StoredRollout } from './rollouts.store.ts'

interface RolloutRequest extends Steps {
  readonly version: string
  readonly autoRollback: boolean
  readonly startImmediately: boolean
}

export interface NewRollout extends RolloutRequest {
  /** Id or name of a device group. */
  readonly group: string | undefined
}

interface RolloutStart extends RolloutRequest {
  /** Null until the version is uploaded. */
  readonly versionNumber: number | null
  readonly groupId: string | null
}

interface Parts {
  readonly plans: DeliveryPlans
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly groups: Pick<GroupsService, 'locate'>
  readonly move: RolloutMoves['move']
  readonly settings: Pick<SettingsService, 'of'>
}

/** Returns why some devices get something else than the rollout's version. */
const precedenceWarnings = (
  preceding: readonly Plan[],
  { startedRevision, settled }: { readonly startedRevision: number | null; readonly settled: boolean },
): string[] => {
  // When the rollout is completed, it replaces the plans that are older.
  const replacedUpTo = settled ? -1 : (startedRevision ?? Number.POSITIVE_INFINITY)
  const warning = (kind: Plan['kind'], isReplaced: boolean, reason: string): string[] => {
    const plans = preceding.filter((plan) => plan.kind === kind && plan.startedRevision <= replacedUpTo === isReplaced)
    const named = plans.map((plan) =>
      plan.kind === 'experiment' ? plan.id : `${plan.id} (version ${plan.target.version})`,
    )
    return named.length === 0 ? [] : [`${reason}: ${enumerate(named)}.`]
  }
  const running = { deployment: 'Unfinished deployments', experiment: 'Running experiments' } as const
  const precede = 'take precedence on their devices'
  return [
    ...(['deployment', 'experiment'] as const).flatMap((kind) => [
      ...warning(kind, true, `${running[kind]} ${precede} until this rollout is completed, which replaces them`),
      ...warning(kind, false, `${running[kind]} ${precede}`),
    ]),
    ...warning('rollout', false, 'A newer rollout has reached all devices, which get its version instead'),
  ]
}

const STILL_DELIVERED = 'Devices within its percentage still get the version, unless it is rolled back or set to 0%.'

/** Creates rollouts: version, devices, and steps. */
export const createRolloutStarts = (
  { database, now, newId }: Context,
  { plans, models, devices, groups, move, settings }: Parts,
  waits: RolloutApprovals,
) => {
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
    const isOver = status === 'completed' || status === 'rolled_back'
    warnings.push(...(await versionWarnings(database.sql, targetOf(rollout), { isOver })))
    if (rollout.groupId !== null && (await groups.locate({ orgId: null }, rollout.groupId)) === null) {
      warnings.push('The device group no longer exists: the rollout has no devices.')
    }
    if (status !== 'rolled_back') {
      const { modelId, startedRevision = null } = rollout
      const place = { modelId, orgId, startedRevision, settled: status === 'completed' }
      warnings.push(...precedenceWarnings(plans.preceding(place), place))
    }
    return status === 'paused' && rollout.percentage !== 0 ? [...warnings, STILL_DELIVERED] : warnings
  }

  const launch = async (
    tx: Executor,
    bump: Bump,
    model: StoredModel,
    wanted: RolloutStart,
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
      endedBy: null,
      updatedAt: now(),
    }
    await rolloutsStore.insert(tx, pending)
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
    approvalOf: waits.approvalOf,

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
        const requested = { ...wanted, ...pinned, autoRollback, groupId, startImmediately }
        const created = await launch(tx, bump, model, requested, actorOf(caller))
        if (mustWait) await waits.request(tx, caller, model, created)
        return created
      })
      return { rollout, model }
    },

    /** Creates a rollout on behalf of the service, in a transaction of `plans.change`. */
    launch: (tx: Executor, bump: Bump, model: StoredModel, wanted: RolloutStart): Promise<StoredRollout> =>
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
        ...(await warningsOf({ modelId: model.id, orgId: model.orgId, ...pinned, groupId })),
      ]
      return { model, version: pinned.version, steps, total, warnings }
    },
  }
}
