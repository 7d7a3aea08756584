import { type Caller, homeOf } from '../../../domain/access.ts'
import { activatedAt, type Strategy } from '../../../domain/deployment.ts'
import { badRequest, isNotFound } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import {
  type ModelsService,
  type ResolvedVersion,
  type StoredModel,
  UnknownVersion,
} from '../../catalog/models/models.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { auditedOf } from './deployment-moves.service.ts'
import { type Aim, createDeploymentTargets } from './deployment-targets.service.ts'
import type { DeploymentsStore, StoredDeployment } from './deployments.store.ts'
import type { Candidate, TargetsReport } from './targets.report.ts'
import type { TargetsStore } from './targets.store.ts'

export interface NewDeployment extends Aim {
  readonly percentage: number
  readonly strategy: Strategy
  readonly deadlineSeconds: number
}

interface Aimed {
  readonly model: StoredModel | null
  readonly version: string
  readonly targets: readonly Candidate[]
  readonly warnings: readonly string[]
}

export interface DeploymentParts {
  readonly database: Database
  readonly store: DeploymentsStore
  readonly targetStore: TargetsStore
  readonly targetReport: TargetsReport
  readonly plans: DeliveryPlans
  readonly models: Pick<ModelsService, 'resolve'>
  readonly groups: Pick<GroupsService, 'locate'>
  readonly now: () => Date
  readonly newId: () => string
}

/** How deployments begin: which version, for which devices. */
export const createDeploymentStarts = (parts: DeploymentParts) => {
  const { database, store, targetStore, targetReport, plans, models, groups, now, newId } = parts

  const targetsOf = createDeploymentTargets({ database, report: targetReport, groups, now })

  /** Null for a name that the catalog does not have: devices may resolve it. */
  const resolve = async (caller: Caller, { modelName, modelVersion }: Aim): Promise<ResolvedVersion | null> => {
    try {
      return await models.resolve(caller, modelName, modelVersion)
    } catch (error) {
      if (error instanceof UnknownVersion) throw badRequest(`model_version: ${error.message}`)
      if (isNotFound(error)) return null
      throw error
    }
  }

  /** Who would get what. Nothing is changed. */
  const aimAt = async (caller: Caller, aim: Aim): Promise<Aimed> => {
    const resolved = await resolve(caller, aim)
    const model = resolved?.model ?? null
    const { targets, warnings } = await targetsOf(caller, aim, model?.orgId ?? null)
    // What `latest` or an alias is now: what it becomes must not slip into a deployment that is under way.
    const version = resolved?.label ?? aim.modelVersion
    if (resolved === null) {
      warnings.push(`The catalog has no model '${aim.modelName}': devices must resolve the name themselves.`)
    } else if (resolved.version === null) {
      warnings.push(`No upload carries version ${version} yet: devices get nothing until one does.`)
    }
    if (targets.length === 0) warnings.push('No target device was found.')
    targets.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    return { model, version, targets, warnings }
  }

  return {
    resolve,
    aimAt,

    /** Under an id of its own, unless whoever asks has one for it: then a second deployment of that id is a conflict. */
    async execute(
      caller: Caller,
      wanted: NewDeployment,
      { id, actor }: { readonly id: string; readonly actor: string | null } = { id: newId(), actor: caller.keyId },
    ): Promise<StoredDeployment & { warnings: readonly string[] }> {
      const { model, version, targets, warnings } = await aimAt(caller, wanted)
      if (targets.length === 0) {
        throw badRequest(`There is no device to deploy to. ${warnings.join(' ')} Name registered devices or a group.`)
      }
      const activated = activatedAt(
        wanted.percentage,
        targets.map(({ deviceId }) => deviceId),
        id,
      )
      const orgs = new Set(targets.map(({ orgId }) => orgId))
      const pending: StoredDeployment = {
        id,
        orgId: caller.orgId ?? (orgs.size === 1 ? [...orgs][0]! : homeOf(caller)),
        modelName: model?.name ?? wanted.modelName,
        modelVersion: version,
        modelId: model?.id ?? null,
        status: 'started',
        strategy: wanted.strategy,
        percentage: wanted.percentage,
        targetCount: targets.length,
        activatedCount: targets.filter(({ deviceId }) => activated.has(deviceId)).length,
        reason: null,
        switchedAt: null,
        deadlineAt: new Date(now().getTime() + wanted.deadlineSeconds * 1000),
        startedRevision: null,
        createdAt: now(),
        endedAt: null,
      }
      const { percentage, createdAt: at } = pending
      const deployment = await plans.change(async (tx, bump) => {
        await store.insert(tx, pending)
        if (actor !== null) auditNote({ kind: 'deployment', ...pending, after: auditedOf(pending) })
        await targetStore.insert(
          tx,
          id,
          targets.map((target) => ({ id: target.id, activated: activated.has(target.deviceId) })),
        )
        await plans.record(
          tx,
          { kind: 'deployment', ...pending },
          {
            at,
            event: 'create',
            status: 'started',
            percentage,
            reason: null,
            actor,
          },
        )
        const started = { ...pending, startedRevision: await bump() }
        await store.update(tx, started)
        return started
      })
      return { ...deployment, warnings }
    },
  }
}
