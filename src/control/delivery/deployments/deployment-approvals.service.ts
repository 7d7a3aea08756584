import { activatedAt } from '../../../domain/deployment.ts'
import { conflict } from '../../../domain/errors.ts'
import type { DeploymentMoves } from './deployment-moves.service.ts'
import type { DeploymentParts, Waiting } from './deployment-starts.service.ts'

/** What becomes of deployments that wait for a second admin. Approved ones reach the devices that were found when they were requested. */
export const handleDeploymentApprovals = (
  { database, store, targetStore, targetReport, plans, models, approvals, now }: DeploymentParts,
  move: DeploymentMoves['move'],
): void =>
  approvals.handle<Waiting>('deployment', {
    async carryOut(requester, { deploymentId: id, modelId, version }, settle) {
      const waiting = await store.find(database.sql, id)
      if (waiting === null || waiting.modelId !== modelId) throw conflict('Its model was deleted.')
      const resolved = await models.resolve(requester, modelId, waiting.modelVersion)
      if (resolved.version?.version !== version)
        throw conflict(`Version ${waiting.modelVersion} is another one than when it was requested.`)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await store.lock(tx, id)
        if (locked === null) throw conflict('The deployment is gone.')
        const targets = await targetReport.devices(tx, id)
        if (targets.length === 0) throw conflict('None of its devices is there any more.')
        const names = targets.map(({ deviceId }) => deviceId)
        const chosen = activatedAt(locked.percentage, names, id)
        const activated = targets.filter(({ deviceId }) => chosen.has(deviceId)).map((target) => target.id)
        await targetStore.activate(tx, id, activated)
        const seconds = (locked.deadlineAt ?? now()).getTime() - locked.createdAt.getTime()
        const change = {
          targetCount: targets.length,
          activatedCount: activated.length,
          deadlineAt: new Date(now().getTime() + seconds),
        }
        await move(tx, bump, locked, 'approve', change, requester.keyId)
      })
    },

    async drop(tx, { deploymentId }, reason) {
      const locked = await store.lock(tx, deploymentId)
      if (locked?.status !== 'pending_approval') return
      const rejected = { ...locked, status: 'rejected' as const, reason, endedAt: now() }
      await store.update(tx, rejected)
      const { status, percentage } = rejected
      const event = { at: now(), event: 'reject', status, percentage, reason, actor: null }
      await plans.record(tx, { kind: 'deployment', ...rejected }, event)
    },
  })
