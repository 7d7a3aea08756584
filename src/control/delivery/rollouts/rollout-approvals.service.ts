import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../../domain/access.ts'
import { isFleetWide } from '../../../domain/approval.ts'
import { badRequest, conflict } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals } from '../../access/approvals/approvals.service.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { RolloutMoves } from './rollout-moves.service.ts'
import type { RolloutsStore, StoredRollout } from './rollouts.store.ts'

interface Waiting {
  readonly rolloutId: string
  readonly modelId: string
  /** What was requested: nobody changes what waits. */
  readonly as: object
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

/** Rollouts whose start waits for a second admin: those that name no group, or one with more than half of the devices. */
export const createRolloutApprovals = (parts: {
  readonly store: RolloutsStore
  readonly plans: DeliveryPlans
  readonly models: Pick<ModelsService, 'find'>
  readonly devices: Pick<DevicesService, 'census'>
  readonly groups: Pick<GroupsService, 'locate'>
  readonly approvals: Approvals
  readonly move: RolloutMoves['move']
}) => {
  const { store, plans, models, devices, groups, approvals, move } = parts

  approvals.handle<Waiting>('rollout_start', {
    async carryOut(requester, { rolloutId, modelId, as }, settle) {
      await models.find(requester, modelId)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await store.lock(tx, rolloutId)
        if (locked === null) throw conflict('The rollout was deleted.')
        if (!isDeepStrictEqual(asRequested(locked), as))
          throw conflict('The rollout is another one than when it was requested.')
        await move(tx, bump, locked, ['start'], { actor: requester.keyId })
      })
    },
  })

  return {
    async isNeeded({ orgId }: Pick<StoredModel, 'orgId'>, groupId: string | null): Promise<boolean> {
      if (!(await approvals.isNeeded(orgId))) return false
      const group = groupId === null ? null : await groups.locate({ orgId }, groupId)
      return groupId === null || isFleetWide(group?.deviceCount ?? 0, (await devices.census({ orgId })).total)
    },

    /** In the transaction that creates it, or would start it. */
    async request(tx: Executor, caller: Caller, model: StoredModel, rollout: StoredRollout): Promise<void> {
      const { id, modelId, version, percentage, targetPercentage } = rollout
      if (!(await plans.isUploaded({ modelId, modelName: null, version }, tx)))
        throw badRequest(
          'version: what needs an approval must be uploaded first, so that it is known what is approved.',
        )
      const payload: Waiting = { rolloutId: id, modelId, as: asRequested(rollout) }
      await approvals.request(tx, caller, {
        orgId: model.orgId!,
        kind: 'rollout_start',
        subject: id,
        title: `Roll out version ${version} of '${model.name ?? modelId}' to ${percentage} % and up to ${targetPercentage} %`,
        payload: { ...payload },
      })
    },

    /** What is to be said of a rollout that waits. */
    async warningsOf({ id, orgId, status }: Pick<StoredRollout, 'id' | 'orgId' | 'status'>): Promise<string[]> {
      const waiting = status === 'pending' && orgId !== null ? await approvals.pendingOf('rollout_start', id) : null
      if (waiting === null) return []
      const wait = `Its start waits for another admin: svc approvals approve ${waiting}`
      return [wait, ...(await approvals.warningsOf(orgId!))]
    },
  }
}

export type RolloutApprovals = ReturnType<typeof createRolloutApprovals>
