import { type Caller, sees } from '../../../domain/access.ts'
import { activatedAt, type DeploymentEvent, dueEvent, nextStatus } from '../../../domain/deployment.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { auditNote, unaudited } from '../../audit-note.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { DeploymentsStore, StoredDeployment } from './deployments.store.ts'
import type { TargetsReport } from './targets.report.ts'
import type { TargetsStore } from './targets.store.ts'

const ATTENDED_AT_ONCE = 100

/** What the audit log says of a deployment. */
export const auditedOf = (deployment: StoredDeployment) => {
  const { modelName, modelVersion, status, strategy, percentage, targetCount, activatedCount, reason } = deployment
  return { modelName, modelVersion, status, strategy, percentage, targetCount, activatedCount, reason }
}

/** How deployments move: by what operators ask for, by the clock, and by what devices report. */
export const createDeploymentMoves = (parts: {
  readonly database: Database
  readonly store: DeploymentsStore
  readonly targetStore: TargetsStore
  readonly targetReport: TargetsReport
  readonly plans: DeliveryPlans
  readonly now: () => Date
}) => {
  const { database, store, targetStore, targetReport, plans, now } = parts

  /** One event on a row that the caller has locked. */
  const move = async (
    tx: Executor,
    bump: Bump,
    locked: StoredDeployment,
    event: DeploymentEvent,
    change: Partial<StoredDeployment>,
    actor: string | null,
  ): Promise<StoredDeployment> => {
    const status = nextStatus(locked.status, event)
    const endedAt = status === 'started' ? null : now()
    const moved = { ...locked, endedAt, reason: null, ...change, status }
    const { percentage, reason } = moved
    await plans.record(tx, { kind: 'deployment', ...moved }, { at: now(), event, status, percentage, reason, actor })
    const revision = await bump()
    const deployment = event === 'approve' ? { ...moved, startedRevision: revision } : moved
    await store.update(tx, deployment)
    if (actor !== null)
      auditNote({ kind: 'deployment', ...deployment, before: auditedOf(locked), after: auditedOf(deployment) })
    return deployment
  }

  /** Does what is due of one deployment: switches, completes or withdraws it. */
  const attend = (id: string): Promise<void> =>
    unaudited(() =>
      plans.change(async (tx, bump) => {
        const deployment = await store.lock(tx, id)
        if (deployment === null || deployment.status !== 'started') return
        const reported = await targetStore.reported(tx, id)
        const due = dueEvent({ ...deployment, switched: deployment.switchedAt !== null }, reported, now())
        if (due === null) return
        const change = due.event === 'switch' ? { switchedAt: now() } : { reason: due.reason }
        await move(tx, bump, deployment, due.event, change, null)
      }),
    )

  const isDue = ({ status, deadlineAt }: StoredDeployment): boolean =>
    status === 'started' && deadlineAt !== null && deadlineAt.getTime() <= now().getTime()

  /** The deployment, brought up to the clock; not_found when the caller may not see it. */
  const get = async (caller: Caller, id: string): Promise<StoredDeployment> => {
    const find = async () => (isUuid(id) ? store.find(database.sql, id) : null)
    let deployment = await find()
    if (deployment !== null && isDue(deployment)) {
      await attend(id)
      deployment = await find()
    }
    if (deployment === null || !sees(caller, deployment.orgId)) throw notFound('Deployment', id)
    return deployment
  }

  /** Withdraws it: its devices get what they got before. @throws conflict when it is over. */
  const rollback = async (caller: Caller, id: string, reason: string | undefined): Promise<StoredDeployment> => {
    await get(caller, id)
    return plans.change(async (tx, bump) => {
      const locked = await store.lock(tx, id)
      if (locked === null) throw notFound('Deployment', id)
      return move(tx, bump, locked, 'rollback', { reason: reason ?? null }, caller.keyId)
    })
  }

  return {
    get,
    rollback,
    move,

    /** Ends those whose time is up. Called by a timer; reads do the same for what they read. */
    async tick(): Promise<void> {
      for (;;) {
        const due = await store.due(database.sql, now(), ATTENDED_AT_ONCE)
        for (const id of due) await attend(id)
        if (due.length < ATTENDED_AT_ONCE) return
      }
    },

    /** Looks after those of these plans that are deployments under way: devices have just reported on them. */
    async reported(planIds: ReadonlySet<string>): Promise<void> {
      for (const id of planIds) {
        const plan = plans.find(id)
        if (plan?.kind === 'deployment' && !plan.settled) await attend(id)
      }
    },

    /** Activates more of its targets. @throws conflict when the percentage is not higher, or the deployment is over. */
    async promote(caller: Caller, id: string, percentage: number): Promise<StoredDeployment> {
      await get(caller, id)
      return plans.change(async (tx, bump) => {
        const locked = await store.lock(tx, id)
        if (locked === null) throw notFound('Deployment', id)
        if (percentage <= locked.percentage) {
          throw conflict(`The deployment is already at ${locked.percentage} %: promote it to a higher percentage.`)
        }
        const targets = await targetReport.devices(tx, id)
        const chosen = activatedAt(
          percentage,
          targets.map(({ deviceId }) => deviceId),
          id,
        )
        const activated = targets.filter(({ deviceId }) => chosen.has(deviceId)).map((target) => target.id)
        await targetStore.activate(tx, id, activated)
        const change = { percentage, activatedCount: activated.length }
        return move(tx, bump, locked, 'promote', change, caller.keyId)
      })
    },
  }
}

export type DeploymentMoves = ReturnType<typeof createDeploymentMoves>
