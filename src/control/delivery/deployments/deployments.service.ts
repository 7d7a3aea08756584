import { actorOf, type Caller } from '../../../domain/access.ts'
import { withdrawnCounts } from '../../../domain/delivery-plan.ts'
import { isWithdrawn } from '../../../domain/deployment.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import { createDeploymentMoves, type DeploymentMoves } from './deployment-moves.service.ts'
import { createDeploymentStarts, type DeploymentParts, type Waiting } from './deployment-starts.service.ts'
import { type DeploymentFilter, deploymentsStore, type StoredDeployment } from './deployments.store.ts'
import { targetsReport } from './targets.report.ts'

export type { TargetSelector } from './deployment-targets.service.ts'
export type { StoredDeployment } from './deployments.store.ts'
export type { TargetDevice } from './targets.report.ts'

/** Handles the approvals of deployments by a second admin. Approved ones reach the devices that were found at the request. */
const handleApprovals = (
  { database, now }: Context,
  { plans, models, approvals }: DeploymentParts,
  { move, activate, renewedDeadline }: Pick<DeploymentMoves, 'move' | 'activate' | 'renewedDeadline'>,
): void =>
  approvals.handle<Waiting>('deployment', {
    async carryOut(requester, { deploymentId: id, modelId, version }, settle) {
      const waiting = await deploymentsStore.find(database.sql, id)
      if (waiting === null || waiting.modelId !== modelId) throw conflict('Its model was deleted.')
      // By number, because in models of earlier releases the label may now belong to another upload.
      const { version: uploaded } = await models.resolve(requester, modelId, String(version))
      if (uploaded === null) throw conflict(`Version ${waiting.modelVersion} has changed since the request.`)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await deploymentsStore.lock(tx, id)
        if (locked === null) throw conflict('The deployment was deleted.')
        const activated = await activate(tx, id, locked.percentage)
        if (activated.targetCount === 0) throw conflict('None of its devices exists anymore.')
        const change = { ...activated, versionNumber: version, ...renewedDeadline(locked) }
        await move(tx, bump, locked, 'approve', change, actorOf(requester))
      })
    },

    async drop(tx, { deploymentId }, reason) {
      const locked = await deploymentsStore.lock(tx, deploymentId)
      if (locked?.status !== 'pending_approval') return
      const rejected = { ...locked, status: 'rejected' as const, reason, endedAt: now() }
      await deploymentsStore.update(tx, rejected)
      const { status, percentage } = rejected
      const event = { at: now(), event: 'reject', status, percentage, reason, actor: null }
      await plans.record(tx, { kind: 'deployment', ...rejected }, event)
    },
  })

/** Deploys a version to named devices, a group, or the whole active fleet, and stores the state of every device. */
export const createDeploymentsService = (context: Context, parts: DeploymentParts) => {
  const { database } = context
  const { plans, approvals } = parts
  const { move, activate, renewedDeadline, ...moves } = createDeploymentMoves(context, parts)
  handleApprovals(context, parts, { move, activate, renewedDeadline })
  const { get } = moves

  return {
    ...createDeploymentStarts(context, parts),
    ...moves,

    async list({ orgId }: Caller, wanted: Omit<DeploymentFilter, 'orgId'>, page: { limit: number; offset: number }) {
      await runDue(approvals.expire)
      return deploymentsStore.list(database.sql, { ...wanted, orgId }, page)
    },

    /** The number of activated devices in each state. */
    async counts({ id, status }: StoredDeployment): Promise<Readonly<Record<string, number>>> {
      const { counts } = await deploymentsStore.reported(database.sql, id)
      return isWithdrawn(status) ? withdrawnCounts(counts) : counts
    },

    async targets(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const deployment = await get(caller, id)
      return { deployment, ...(await targetsReport.list(database.sql, id, page)) }
    },

    async history(caller: Caller, id: string, page: { limit: number; offset: number }) {
      await get(caller, id)
      return plans.history(id, page)
    },
  }
}

export type DeploymentsService = ReturnType<typeof createDeploymentsService>
