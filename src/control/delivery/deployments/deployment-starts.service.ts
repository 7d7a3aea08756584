import { actorOf, type Caller } from '../../../domain/access.ts'
import { isFleetWide, WILL_WAIT } from '../../../domain/approval.ts'
import { activatedAt, type Strategy } from '../../../domain/deployment.ts'
import { badRequest, conflict, ServiceError } from '../../../domain/errors.ts'
import { plural } from '../../../domain/plural.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals } from '../../access/approvals/approvals.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { TargetSelector } from './deployment-targets.service.ts'
import { deploymentsStore, type StoredDeployment } from './deployments.store.ts'
import { createTargetResolution, type ResolvedTargets } from './target-resolution.service.ts'
import type { Candidate } from './targets.report.ts'

export interface NewDeployment extends TargetSelector {
  readonly percentage: number
  readonly strategy: Strategy
  readonly deadlineSeconds: number
}

interface Planned {
  readonly deployment: StoredDeployment
  readonly uploaded: StoredVersion | null
  readonly targets: readonly Candidate[]
  /** Internal ids of the targets that get it at once. */
  readonly activated: ReadonlySet<string>
  readonly warnings: readonly string[]
}

/** The conditions that must still hold when a deployment is approved. */
export interface Waiting {
  readonly deploymentId: string
  readonly modelId: string
  readonly version: number
}

export interface DeploymentParts {
  readonly plans: DeliveryPlans
  readonly models: Pick<ModelsService, 'resolve'>
  readonly groups: Pick<GroupsService, 'locate'>
  readonly devices: Pick<DevicesService, 'census'>
  readonly approvals: Approvals
}

/**
 * Returns the organization whose admin must approve it, or null if none must.
 * @throws conflict if it reaches several organizations, and one of them requires approval
 */
const createApproverOf =
  (_context: Context, { approvals, devices }: Pick<DeploymentParts, 'approvals' | 'devices'>) =>
  async (wanted: TargetSelector, { targets }: Pick<ResolvedTargets, 'targets'>): Promise<string | null> => {
    const isNamed = (wanted.devices ?? []).length > 0 || wanted.group !== undefined
    const reached = new Map<string, number>()
    for (const { orgId } of targets) if (orgId !== null) reached.set(orgId, (reached.get(orgId) ?? 0) + 1)
    for (const [orgId, count] of reached) {
      if (!(await approvals.isNeeded(orgId))) continue
      const isWide = !isNamed || isFleetWide(count, (await devices.census({ orgId })).total)
      if (!isWide) continue
      if (reached.size === 1) return orgId
      throw conflict(
        `'${orgId}' requires approval, and these devices belong to several organizations: deploy to each separately.`,
      )
    }
    return null
  }

const waitOf = (orgId: string | null): readonly string[] => (orgId === null ? [] : [WILL_WAIT])

const refusalOf = (error: unknown): readonly string[] => {
  if (!(error instanceof ServiceError)) throw error
  return [error.message]
}

/** Returns the fields of a deployment in the audit log. */
export const auditedOf = (deployment: StoredDeployment) => {
  const { modelName, modelVersion, status, strategy, percentage, targetCount, activatedCount, reason } = deployment
  return { modelName, modelVersion, status, strategy, percentage, targetCount, activatedCount, reason }
}

/** Starts deployments: finds the version and the devices. */
export const createDeploymentStarts = (context: Context, parts: DeploymentParts) => {
  const { database, now, newId } = context
  const { plans, approvals } = parts
  const approverOf = createApproverOf(context, parts)
  const { resolve, resolveTargets } = createTargetResolution(context, parts)

  /** Returns the deployment as it would start. */
  const plan = async (caller: Caller, wanted: NewDeployment, id: string): Promise<Planned> => {
    const { orgId, model, version, uploaded, targets, warnings } = await resolveTargets(caller, wanted)
    if (targets.length === 0) {
      const reasons = ['There is no device to deploy to.', ...warnings]
      throw badRequest(`${reasons.join(' ')} Give registered devices or a group.`)
    }
    const activated = activatedAt(wanted.percentage, targets, id)
    const deployment: StoredDeployment = {
      id,
      orgId,
      modelName: model?.name ?? wanted.modelName,
      modelVersion: version,
      modelId: model?.id ?? null,
      versionNumber: uploaded?.version ?? null,
      status: 'started',
      strategy: wanted.strategy,
      percentage: wanted.percentage,
      targetCount: targets.length,
      activatedCount: activated.size,
      reason: null,
      switchedAt: null,
      deadlineAt: new Date(now().getTime() + wanted.deadlineSeconds * 1000),
      phaseSeconds: wanted.deadlineSeconds,
      startedRevision: null,
      createdAt: now(),
      endedAt: null,
    }
    return { deployment, uploaded, targets, activated, warnings }
  }

  const insert = async (tx: Executor, planned: Planned, actor: string | null): Promise<void> => {
    const { deployment, targets, activated } = planned
    const { id, status, percentage, createdAt: at } = deployment
    await deploymentsStore.insert(tx, deployment)
    if (actor !== null) auditNote({ kind: 'deployment', ...deployment, after: auditedOf(deployment) })
    const rows = targets.map((target) => ({ id: target.id, activated: activated.has(target.id) }))
    await deploymentsStore.insertTargets(tx, id, rows)
    const event = { at, event: 'create', status, percentage, reason: null, actor }
    await plans.record(tx, { kind: 'deployment', ...deployment }, event)
  }

  const start = async (tx: Executor, bump: Bump, planned: Planned, actor: string | null): Promise<StoredDeployment> => {
    await insert(tx, planned, actor)
    const started = { ...planned.deployment, startedRevision: await bump() }
    await deploymentsStore.update(tx, started)
    return started
  }

  return {
    resolve,

    /** Returns which devices would get it, and whether a second admin would have to approve it. Changes nothing. */
    async prepare(caller: Caller, selector: TargetSelector): Promise<ResolvedTargets> {
      const resolved = await resolveTargets(caller, selector)
      const nobody = resolved.targets.length === 0 ? ['No target device was found.'] : []
      const approval = await approverOf(selector, resolved).then(waitOf, refusalOf)
      return { ...resolved, warnings: [...approval, ...resolved.warnings, ...nobody] }
    },

    /** Starts a deployment under a new id or the caller's, which a second deployment cannot use (conflict). */
    async execute(
      caller: Caller,
      wanted: NewDeployment,
      { id, actor }: { readonly id: string; readonly actor: string | null } = { id: newId(), actor: actorOf(caller) },
    ): Promise<StoredDeployment & { warnings: readonly string[] }> {
      const planned = await plan(caller, wanted, id)
      const deployment = await plans.change((tx, bump) => start(tx, bump, planned, actor))
      return { ...deployment, warnings: planned.warnings }
    },

    /** Like `execute`, unless the organization requires a second admin for it: then it waits, and its approval is returned. */
    async request(
      caller: Caller,
      wanted: NewDeployment,
    ): Promise<StoredDeployment & { warnings: readonly string[]; approvalId: string | null }> {
      const planned = await plan(caller, wanted, newId())
      const orgId = await approverOf(wanted, planned)
      if (orgId === null) {
        const deployment = await plans.change((tx, bump) => start(tx, bump, planned, actorOf(caller)))
        return { ...deployment, warnings: planned.warnings, approvalId: null }
      }
      const { deployment, uploaded } = planned
      if (uploaded === null) throw badRequest('model_version: a version that needs approval must be uploaded first.')
      const waiting = { ...deployment, orgId, status: 'pending_approval' as const, activatedCount: 0 }
      const title = `Deploy version ${waiting.modelVersion} of '${waiting.modelName}' to ${plural(waiting.targetCount, 'device')}`
      const payload: Waiting = { deploymentId: waiting.id, modelId: waiting.modelId!, version: uploaded.version }
      const { id: approvalId } = await database.transaction(async (tx) => {
        await insert(tx, { ...planned, deployment: waiting, activated: new Set() }, actorOf(caller))
        return approvals.request(tx, caller, {
          orgId,
          kind: 'deployment',
          subject: waiting.id,
          title: `${title}, ${waiting.percentage}% of them at first`,
          payload: { ...payload },
        })
      })
      return { ...waiting, warnings: [...planned.warnings, ...(await approvals.warningsOf(orgId))], approvalId }
    },
  }
}
