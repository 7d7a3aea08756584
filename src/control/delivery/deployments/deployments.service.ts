import { type Caller, homeOf, sees } from '../../../domain/access.ts'
import {
  activatedAt,
  type DeploymentEvent,
  dueEvent,
  nextStatus,
  type Reported,
  type Strategy,
} from '../../../domain/deployment.ts'
import { badRequest, conflict, isNotFound, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import {
  type ModelsService,
  type ResolvedVersion,
  type StoredModel,
  UnknownVersion,
} from '../../catalog/models/models.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { Bump, DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { type Aim, createDeploymentTargets } from './deployment-targets.service.ts'
import type { DeploymentsStore, StoredDeployment } from './deployments.store.ts'
import type { Candidate, TargetsReport } from './targets.report.ts'
import type { TargetsStore } from './targets.store.ts'

export type { Aim } from './deployment-targets.service.ts'
export type { StoredDeployment } from './deployments.store.ts'
export type { TargetDevice } from './targets.report.ts'

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

const ATTENDED_AT_ONCE = 100

/** A version of a model for named devices, a group, or the whole active fleet; every device's state is kept. */
export const createDeploymentsService = (parts: {
  readonly database: Database
  readonly store: DeploymentsStore
  readonly targetStore: TargetsStore
  readonly targetReport: TargetsReport
  readonly plans: DeliveryPlans
  readonly models: Pick<ModelsService, 'resolve'>
  readonly groups: Pick<GroupsService, 'locate'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
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
    const deployment = { ...locked, endedAt, reason: null, ...change, status }
    await store.update(tx, deployment)
    const { percentage, reason } = deployment
    await plans.record(
      tx,
      { kind: 'deployment', ...deployment },
      { at: now(), event, status, percentage, reason, actor },
    )
    await bump()
    return deployment
  }

  /** Does what is due of one deployment: switches, completes or withdraws it. */
  const attend = (id: string): Promise<void> =>
    plans.change(async (tx, bump) => {
      const deployment = await store.lock(tx, id)
      if (deployment === null || deployment.status !== 'started') return
      const reported = await targetStore.reported(tx, id)
      const due = dueEvent({ ...deployment, switched: deployment.switchedAt !== null }, reported, now())
      if (due === null) return
      const change = due.event === 'switch' ? { switchedAt: now() } : { reason: due.reason }
      await move(tx, bump, deployment, due.event, change, null)
    })

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
    resolve,
    aimAt,
    rollback,

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
