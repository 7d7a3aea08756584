import { isDeepStrictEqual } from 'node:util'
import { actorOf, type Caller } from '../../../domain/access.ts'
import { isFleetWide } from '../../../domain/approval.ts'
import { badRequest, conflict } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals } from '../../access/approvals/approvals.service.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { type RolloutMoves, targetOf } from './rollout-moves.service.ts'
import { rolloutsStore, type StoredRollout } from './rollouts.store.ts'

interface Waiting {
  readonly rolloutId: string
  readonly modelId: string
  /** The settings when the start was requested; the approval fails if they have changed. */
  readonly as: ReturnType<typeof asRequested>
  /** The upload to deliver; absent in requests of earlier releases, which did not record it. */
  readonly versionNumber?: number | null
}

const asRequested = (rollout: StoredRollout) => ({
  version: rollout.version,
  percentage: rollout.percentage,
  targetPercentage: rollout.targetPercentage,
  incrementStep: rollout.incrementStep,
  stepIntervalSeconds: rollout.stepIntervalSeconds,
  groupId: rollout.groupId,
  autoRollback: rollout.autoRollback,
})

/** Makes the start of a rollout wait for a second admin if it names no group, or one with more than half of the devices. */
export const createRolloutApprovals = ({
  plans,
  models,
  devices,
  groups,
  approvals,
  move,
}: {
  readonly plans: DeliveryPlans
  readonly models: Pick<ModelsService, 'find'>
  readonly devices: Pick<DevicesService, 'census'>
  readonly groups: Pick<GroupsService, 'locate'>
  readonly move: RolloutMoves['move']
  readonly approvals: Approvals
}) => {
  /** Returns the id of the approval that the rollout's start waits for; null if there is none. */
  const approvalOf = async ({
    id,
    orgId,
    status,
  }: Pick<StoredRollout, 'id' | 'orgId' | 'status'>): Promise<string | null> =>
    status === 'pending' && orgId !== null ? approvals.pendingOf('rollout_start', id) : null

  /** @throws conflict if the group that a rollout is for was deleted: it would have no devices */
  const requireGroup = async (groupId: string | null): Promise<void> => {
    if (groupId !== null && (await groups.locate({ orgId: null }, groupId)) === null)
      throw conflict('Its device group was deleted. Create another rollout.')
  }

  approvals.handle<Waiting>('rollout_start', {
    async carryOut(requester, { rolloutId, modelId, as, versionNumber }, settle) {
      await models.find(requester, modelId)
      await requireGroup(as.groupId)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await rolloutsStore.lock(tx, rolloutId)
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

    async drop(tx, { rolloutId }, reason) {
      const locked = await rolloutsStore.lock(tx, rolloutId)
      if (locked?.status !== 'pending') return
      await rolloutsStore.update(tx, { ...locked, reason: `Its start was not approved: ${reason}` })
      await plans.planChanged(tx, { kind: 'rollout', ...locked })
    },
  })

  return {
    approvalOf,
    requireGroup,

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

    /** Ends the request for the start of a rollout, in the transaction that deletes the rollout. */
    withdraw: (tx: Executor, id: string): Promise<void> =>
      approvals.withdraw(tx, 'rollout_start', id, 'The rollout was deleted.'),

    /** Returns the warnings about a rollout that waits for approval. */
    async warningsOf(rollout: Pick<StoredRollout, 'id' | 'orgId' | 'status'>): Promise<string[]> {
      const waiting = await approvalOf(rollout)
      if (waiting === null) return []
      const wait = `Its start waits for another admin: svc approvals approve ${waiting}`
      return [wait, ...(await approvals.warningsOf(rollout.orgId!))]
    },
  }
}

export type RolloutApprovals = ReturnType<typeof createRolloutApprovals>
