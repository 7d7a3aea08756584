import { actorOf, type Caller, sees } from '../../../domain/access.ts'
import type { AssignedDevice } from '../../../domain/assignment.ts'
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
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import { createRetries } from '../../retries.ts'
import type { Bump } from '../assignments/delivery-plans.service.ts'
import { auditedOf, type DeploymentParts } from './deployment-starts.service.ts'
import { deploymentsStore, type StoredDeployment } from './deployments.store.ts'
import { targetsReport } from './targets.report.ts'

/** @throws conflict if newer settled plans keep all devices that would be activated: the promotion would change nothing */
const requireEffect = (
  plans: DeploymentParts['plans'],
  deployment: StoredDeployment,
  activated: readonly AssignedDevice[],
): void => {
  nextStatus(deployment.status, 'promote')
  const since = { ...deployment, startedRevision: deployment.startedRevision ?? 0 }
  const replacements = activated.map((device) => plans.replacementOf(since, device))
  const [newer = null] = replacements
  if (newer === null || replacements.includes(null)) return
  throw conflict(
    `Newer plans have replaced the deployment on all of these devices, such as ${newer.kind} ${newer.planId} ` +
      `(version ${newer.offer.version}). Roll them back, or execute a new deployment.`,
  )
}

/** Transitions of deployments: by operators, by the clock, and by the reports of devices. */
export const createDeploymentMoves = (context: Context, { plans, approvals }: DeploymentParts) => {
  const { database, now, log } = context
  const attempt = createRetries(context, log, 'a due deployment could not be changed; it will be retried')

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
    await deploymentsStore.update(tx, deployment)
    if (actor !== null)
      auditNote({ kind: 'deployment', ...deployment, before: auditedOf(locked), after: auditedOf(deployment) })
    return deployment
  }

  /** The deadline for reports in a phase that begins now. */
  const renewedDeadline = (locked: StoredDeployment) => ({
    deadlineAt: deadlineOfNextPhase(locked.phaseSeconds, now()),
  })

  /** Activates this percentage of its targets, after `check`. */
  const activate = async (
    tx: Executor,
    id: string,
    percentage: number,
    check: (devices: readonly AssignedDevice[]) => void = () => undefined,
  ) => {
    const targets = await targetsReport.devices(tx, id)
    const activatedIds = activatedAt(percentage, targets, id)
    check(targets.filter((device) => activatedIds.has(device.id)))
    await deploymentsStore.activate(tx, id, [...activatedIds])
    const { activated } = await deploymentsStore.reported(tx, id)
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
    await move(tx, bump, deployment, 'replace', { ...counts, ...renewedDeadline(deployment) }, null)
    return true
  }

  /** Does what is due for one deployment: switches, completes, or withdraws it. */
  const attend = (id: string): Promise<void> =>
    unaudited(() =>
      plans.change(async (tx, bump) => {
        const deployment = await deploymentsStore.lock(tx, id)
        if (deployment === null || deployment.status !== 'started') return
        const reported = await deploymentsStore.reported(tx, id)
        if (await replaceErased(tx, bump, deployment, reported)) return
        const due = dueEvent({ ...deployment, switched: deployment.switchedAt !== null }, reported, now())
        if (due === null) return
        const change =
          due.event === 'switch' ? { switchedAt: now(), ...renewedDeadline(deployment) } : { reason: due.reason }
        await move(tx, bump, deployment, due.event, change, null)
      }),
    )

  const isDue = ({ status, deadlineAt }: StoredDeployment): boolean =>
    status === 'started' && deadlineAt !== null && deadlineAt.getTime() <= now().getTime()

  /** Returns the deployment, after doing what is due. @throws not_found if the caller may not see it */
  const get = async (caller: Caller, id: string): Promise<StoredDeployment> => {
    const find = async () => (isUuid(id) ? deploymentsStore.find(database.sql, id) : null)
    let deployment = await find()
    if (deployment?.status === 'pending_approval') {
      await runDue(approvals.expire)
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
      const locked = await deploymentsStore.lock(tx, id)
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
      for (const id of await deploymentsStore.due(database.sql, now()))
        await attempt(id, { deployment_id: id }, () => attend(id))
    },

    resetTimesAhead: (): Promise<void> => deploymentsStore.resetTimesAhead(database.sql, now()),

    /** Called after reports of devices. */
    reported: attend,

    /**
     * Activates more of its targets.
     * @throws conflict if the percentage is not higher, its status does not allow it, or newer plans have replaced it everywhere
     */
    async promote(caller: Caller, id: string, percentage: number): Promise<StoredDeployment> {
      await get(caller, id)
      // Another process may have completed a newer plan just now.
      await plans.refresh()
      return plans.change(async (tx, bump) => {
        const locked = await deploymentsStore.lock(tx, id)
        if (locked === null) throw notFound('Deployment', id)
        if (percentage <= locked.percentage) {
          throw conflict(`The deployment is already at ${locked.percentage}%: promote it to a higher percentage.`)
        }
        const activated = await activate(tx, id, percentage, (devices) => requireEffect(plans, locked, devices))
        const change = { percentage, ...activated, ...renewedDeadline(locked) }
        return move(tx, bump, locked, 'promote', change, actorOf(caller))
      })
    },
  }
}

export type DeploymentMoves = ReturnType<typeof createDeploymentMoves>
