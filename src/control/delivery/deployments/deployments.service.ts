import type { Caller } from '../../../domain/access.ts'
import type { Reported } from '../../../domain/deployment.ts'
import { handleDeploymentApprovals } from './deployment-approvals.service.ts'
import { createDeploymentMoves } from './deployment-moves.service.ts'
import { createDeploymentStarts, type DeploymentParts } from './deployment-starts.service.ts'

export type { Aim } from './deployment-targets.service.ts'
export type { StoredDeployment } from './deployments.store.ts'
export type { TargetDevice } from './targets.report.ts'

/** A version of a model for named devices, a group, or the whole active fleet; every device's state is kept. */
export const createDeploymentsService = (parts: DeploymentParts) => {
  const { database, store, targetStore, targetReport, plans } = parts
  const { move, ...moves } = createDeploymentMoves(parts)
  handleDeploymentApprovals(parts, move)
  const { get } = moves

  return {
    ...createDeploymentStarts(parts),
    ...moves,

    list: (caller: Caller, modelName: string | undefined, page: { limit: number; offset: number }) =>
      store.list(database.sql, { orgId: caller.orgId, modelName }, page),

    counts: async (id: string): Promise<Reported & { readonly counts: Readonly<Record<string, number>> }> =>
      targetStore.reported(database.sql, id),

    async targets(caller: Caller, id: string, page: { limit: number; offset: number }) {
      await get(caller, id)
      return targetReport.list(database.sql, id, page)
    },

    async history(caller: Caller, id: string, page: { limit: number; offset: number }) {
      await get(caller, id)
      return plans.history(id, page)
    },
  }
}

export type DeploymentsService = ReturnType<typeof createDeploymentsService>
