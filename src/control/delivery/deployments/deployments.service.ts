import { actorOf, type Caller, sees } from '../../../domain/access.ts'
import {
  activatedAt,
  activatedCountAt,
  type DeploymentEvent,
  deadlineOfNextPhase,
  dueEvent,
  nextStatus,
  type Reported,
} from '../../../domain/deployment.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote, unaudited } from '../../audit-note.ts'
import { catchUp, forEach } from '../../module.ts'
import type { Bump } from '../assignments/delivery-plans.service.ts'
import { auditedOf, createDeploymentStarts, type DeploymentParts, type Waiting } from './deployment-starts.service.ts'
import type { StoredDeployment } from './deployments.store.ts'

export type { Aim } from './deployment-targets.service.ts'
export type { StoredDeployment } from './deployments.store.ts'
export type { TargetDevice } from './targets.report.ts'

/** Transitions of deployments: by operators, by the clock, and by the reports of devices. */
const createDeploymentMoves = ({ database, store, targetReport, plans, approvals, now }: DeploymentParts) => {
  /** Applies one event to a row that the caller has locked. */
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

  /** The deadline for reports in a phase that begins now. */
  const renewedDeadline = async (tx: Executor, locked: StoredDeployment) => ({
    deadlineAt: deadlineOfNextPhase(locked.deadlineAt, await store.phaseStartedAt(tx, locked), now()),
  })

  /** Activates this percentage of its targets. */
  const activate = async (tx: Executor, id: string, percentage: number) => {
    const targets = await targetReport.devices(tx, id)
    await store.activate(tx, id, [...activatedAt(percentage, targets, id)])
    const { activated } = await store.reported(tx, id)
    return { targetCount: targets.length, activatedCount: activated }
  }

  /** Activates other targets in place of erased ones; ends a deployment that has none left. Returns true if it did either. */
  const replaceErased = async (tx: Executor, bump: Bump, deployment: StoredDeployment, { activated }: Reported) => {
    const { id, percentage, targetCount } = deployment
    if (targetCount === 0) {
      await move(tx, bump, deployment, 'fail', { reason: 'All of its devices were erased.' }, null)
      return true
    }
    if (activated >= activatedCountAt(percentage, targetCount)) return false
    const counts = await activate(tx, id, percentage)
    if (counts.activatedCount <= activated) return false
    await move(tx, bump, deployment, 'replace', { ...counts, ...(await renewedDeadline(tx, deployment)) }, null)
    return true
  }

  /** Does what is due for one deployment: switches, completes, or withdraws it. */
  const attend = (id: string): Promise<void> =>
    unaudited(() =>
      plans.change(async (tx, bump) => {
        const deployment = await store.lock(tx, id)
        if (deployment === null || deployment.status !== 'started') return
        const reported = await store.reported(tx, id)
        if (await replaceErased(tx, bump, deployment, reported)) return
        const due = dueEvent({ ...deployment, switched: deployment.switchedAt !== null }, reported, now())
        if (due === null) return
        const change =
          due.event === 'switch'
            ? { switchedAt: now(), ...(await renewedDeadline(tx, deployment)) }
            : { reason: due.reason }
        await move(tx, bump, deployment, due.event, change, null)
      }),
    )

  const isDue = ({ status, deadlineAt }: StoredDeployment): boolean =>
    status === 'started' && deadlineAt !== null && deadlineAt.getTime() <= now().getTime()

  /** Returns the deployment, after doing what is due. @throws not_found if the caller may not see it */
  const get = async (caller: Caller, id: string): Promise<StoredDeployment> => {
    const find = async () => (isUuid(id) ? store.find(database.sql, id) : null)
    let deployment = await find()
    if (deployment?.status === 'pending_approval') {
      await catchUp(approvals.expire)
      deployment = await find()
    } else if (deployment !== null && isDue(deployment)) {
      await attend(id)
      deployment = await find()
    }
    if (deployment === null || !sees(caller, deployment.orgId)) throw notFound('Deployment', id)
    return deployment
  }

  /** Withdraws it: its devices get their previous version. @throws conflict if its status does not allow it */
  const rollback = async (caller: Caller, id: string, reason: string | undefined): Promise<StoredDeployment> => {
    await get(caller, id)
    return plans.change(async (tx, bump) => {
      const locked = await store.lock(tx, id)
      if (locked === null) throw notFound('Deployment', id)
      return move(tx, bump, locked, 'rollback', { reason: reason ?? null }, actorOf(caller))
    })
  }

  return {
    get,
    rollback,
    move,
    activate,
    renewedDeadline,

    /** Ends deployments at their deadlines. Called by a timer; reads do the same for what they read. */
    async tick(): Promise<void> {
      await forEach(await store.due(database.sql, now()), attend)
    },

    /** Attends to those of these plans that are deployments under way, because devices have just reported on them. */
    async reported(planIds: ReadonlySet<string>): Promise<void> {
      for (const id of planIds) {
        const plan = plans.find(id)
        if (plan?.kind === 'deployment' && !plan.settled) await attend(id)
      }
    },

    /** Activates more of its targets. @throws conflict if the percentage is not higher, or its status does not allow it */
    async promote(caller: Caller, id: string, percentage: number): Promise<StoredDeployment> {
      await get(caller, id)
      return plans.change(async (tx, bump) => {
        const locked = await store.lock(tx, id)
        if (locked === null) throw notFound('Deployment', id)
        if (percentage <= locked.percentage) {
          throw conflict(`The deployment is already at ${locked.percentage}%: promote it to a higher percentage.`)
        }
        const deadline = await renewedDeadline(tx, locked)
        const change = { percentage, ...(await activate(tx, id, percentage)), ...deadline }
        return move(tx, bump, locked, 'promote', change, actorOf(caller))
      })
    },
  }
}

/** Handles the approvals of deployments by a second admin. Approved ones reach the devices that were found at the request. */
const handleApprovals = (
  { database, store, plans, models, approvals, now }: DeploymentParts,
  {
    move,
    activate,
    renewedDeadline,
  }: Pick<ReturnType<typeof createDeploymentMoves>, 'move' | 'activate' | 'renewedDeadline'>,
): void =>
  approvals.handle<Waiting>('deployment', {
    async carryOut(requester, { deploymentId: id, modelId, version }, settle) {
      const waiting = await store.find(database.sql, id)
      if (waiting === null || waiting.modelId !== modelId) throw conflict('Its model was deleted.')
      // By number, because in models of earlier releases the label may now belong to another upload.
      const { version: uploaded } = await models.resolve(requester, modelId, String(version))
      if (uploaded === null) throw conflict(`Version ${waiting.modelVersion} has changed since the request.`)
      await plans.change(async (tx, bump) => {
        await settle(tx)
        const locked = await store.lock(tx, id)
        if (locked === null) throw conflict('The deployment was deleted.')
        const activated = await activate(tx, id, locked.percentage)
        if (activated.targetCount === 0) throw conflict('None of its devices exists anymore.')
        const change = { ...activated, versionNumber: version, ...(await renewedDeadline(tx, locked)) }
        await move(tx, bump, locked, 'approve', change, actorOf(requester))
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

/** Deploys a version to named devices, a group, or the whole active fleet, and stores the state of every device. */
export const createDeploymentsService = (parts: DeploymentParts) => {
  const { database, store, targetReport, plans, approvals } = parts
  const { move, activate, renewedDeadline, ...moves } = createDeploymentMoves(parts)
  handleApprovals(parts, { move, activate, renewedDeadline })
  const { get } = moves

  return {
    ...createDeploymentStarts(parts),
    ...moves,

    async list(caller: Caller, modelName: string | undefined, page: { limit: number; offset: number }) {
      await catchUp(approvals.expire)
      return store.list(database.sql, { orgId: caller.orgId, modelName }, page)
    },

    counts: async (id: string): Promise<Reported & { readonly counts: Readonly<Record<string, number>> }> =>
      store.reported(database.sql, id),

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
