import { type Caller, sees } from '../../../domain/access.ts'
import {
  type AssignedDevice,
  type Assignment,
  type AssignmentIndex,
  assignmentBy,
  assignmentsOf,
  indexAssignments,
  replacementOf,
} from '../../../domain/assignment.ts'
import {
  experimentsBeside,
  type Offer,
  type Overlap,
  type Plan,
  plansPreceding,
  plansReplacing,
  type Target,
  targetKey,
  targetsOf,
} from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { PlanChange } from '../../events.ts'
import { createGroupMembers } from './group-members.report.ts'
import { type PlansReport, plansReport } from './plans.report.ts'
import { type PlanEvent, plansStore } from './plans.store.ts'

export type { PlansReport } from './plans.report.ts'
export type { PlanEvent } from './plans.store.ts'

/** A store of one kind of plan: rollouts, deployments, or experiments. */
export interface PlanSource {
  /**
   * Returns the plans of this kind that are in force in any organization: running, paused, or settled. May leave out settled
   * plans that reach no device because newer ones have replaced them.
   */
  load(db: Executor, report: PlansReport): Promise<Plan[]>
}

/** Records a change, so that the running plans are reloaded. Returns the revision, by which plans are older or newer. */
export type Bump = () => Promise<number>

/**
 * The plans in force, kept in memory so that a heartbeat needs no query. Plans are changed in `change`. This process sees
 * the change when `change` returns, other processes when the hint reaches them.
 */
export const createDeliveryPlans = (
  { database, events }: Pick<Context, 'database' | 'events'>,
  {
    sources,
    unboundReachAll,
    changed,
  }: {
    readonly sources: readonly PlanSource[]
    /** Whether plans without an organization reach the devices of every organization. */
    readonly unboundReachAll: boolean
    /** Called when assignments may have changed. */
    readonly changed: () => void
  },
) => {
  let loadedRevision: number | null = null
  let index: AssignmentIndex = { ofOrg: new Map(), ofOthers: new Map() }
  let inForce: ReadonlyMap<string, Plan> = new Map()
  let ofModel: ReadonlyMap<string, readonly Plan[]> = new Map()
  let offered: ReadonlyMap<string, Offer> = new Map()
  let members: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  const membersOf = createGroupMembers()

  const load = async (): Promise<void> => {
    // Read before the plans: a commit in between changes it, and is then loaded next time.
    const revision = await plansStore.revision(database.sql)
    if (revision === loadedRevision) return
    const plans = (await Promise.all(sources.map((source) => source.load(database.sql, plansReport)))).flat()
    const [offers, groups] = await Promise.all([
      plansReport.offers(
        database.sql,
        plans.flatMap(targetsOf).filter(({ modelId }) => modelId !== null),
      ),
      membersOf(database.sql, [...new Set(plans.flatMap(groupsOf))]),
    ])
    index = indexAssignments({ plans, offers, groups, unboundReachAll })
    inForce = new Map(plans.map((plan) => [plan.id, plan]))
    ofModel = byModel(plans)
    offered = offers
    members = groups
    loadedRevision = revision
    changed()
  }

  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  /** Updates memory to what is committed now. Calls during a refresh share the one that follows it. */
  const refresh = (): Promise<void> => {
    next ??= last = last
      .catch(() => undefined)
      .then(() => {
        next = null
        return load()
      })
    return next
  }

  // A plan may have been waiting for the version, or may target the group. The change is committed, so a failed reload is
  // ignored: another one follows.
  const catchUp = () => {
    database.hints.send('plans')
    return refresh().catch(() => undefined)
  }
  database.hints.listen('plans', () => void refresh().catch(() => undefined))
  events.inTransaction('version.added', async (tx, { modelId }) => {
    if (await plansStore.isModelUsed(tx, modelId)) await plansStore.bump(tx)
  })
  events.afterCommit('version.added', catchUp)
  events.inTransaction('group.changed', async (tx, { groupId }) => {
    if (await plansStore.isGroupUsed(tx, groupId)) await plansStore.bump(tx)
  })
  events.afterCommit('group.changed', catchUp)

  const planChanged = (tx: Executor, change: PlanChange): Promise<void> => events.publish(tx, 'plan.changed', change)

  const offerOf = async (target: Target, db: Executor = database.sql): Promise<Offer | null> =>
    target.modelId === null ? null : ((await plansReport.offers(db, [target])).get(targetKey(target)) ?? null)

  const overlap: Overlap = (one, other) => {
    const inOther = members.get(other)
    return inOther !== undefined && [...(members.get(one) ?? [])].some((device) => inOther.has(device))
  }

  return {
    refresh,

    /** Returns the device's assignments from the plans in this process's memory, without a query. */
    assignmentsOf: (device: AssignedDevice): readonly Assignment[] => assignmentsOf(index, device),

    /** Returns what this plan assigns to the device; null if it is not in force, or another one takes precedence. */
    assignmentBy(planId: string, device: AssignedDevice): Assignment | null {
      const plan = inForce.get(planId)
      return plan === undefined ? null : assignmentBy(index, plan, device)
    },

    /** Returns the plan if it is in force. */
    find: (planId: string): Plan | null => inForce.get(planId) ?? null,

    /** Returns what a newer settled plan assigns to the device for the model of this plan; null if there is none. */
    replacementOf: (
      plan: Pick<Target, 'modelId' | 'modelName'> & { readonly startedRevision: number },
      device: AssignedDevice,
    ): Assignment | null => replacementOf(index, plan, device),

    /** Returns the plans in force that may take precedence over a rollout. */
    preceding: (rollout: Parameters<typeof plansPreceding>[1]): Plan[] =>
      plansPreceding(ofModel.get(rollout.modelId) ?? [], rollout),

    /** Returns the completed plans that have replaced an experiment's variants of a model. */
    replacing: (experiment: Parameters<typeof plansReplacing>[1]) =>
      plansReplacing(ofModel.get(experiment.modelId) ?? [], experiment, overlap),

    /** Returns the running experiments on the same model and devices as this one. */
    experimentsBeside: (experiment: Parameters<typeof experimentsBeside>[1]) =>
      experimentsBeside(ofModel.get(experiment.modelId) ?? [], experiment, overlap),

    /** Returns the numbers of the model's versions that plans in force deliver, of plans that the caller sees. */
    async deliveredOf(caller: Caller, modelId: string): Promise<readonly number[]> {
      await refresh()
      const targets = (ofModel.get(modelId) ?? []).filter(({ orgId }) => sees(caller, orgId)).flatMap(targetsOf)
      const versions = targets.flatMap((target) =>
        target.modelId === modelId ? (offered.get(targetKey(target))?.versionNumber ?? []) : [],
      )
      return [...new Set(versions)].sort((a, b) => a - b)
    },

    /** True if a running experiment gives devices versions of this model. */
    tests: (modelId: string): boolean => ofModel.get(modelId)?.some(({ kind }) => kind === 'experiment') ?? false,

    /** True if a plan of one organization can reach a device of another. */
    reaches: (planOrgId: string | null, deviceOrgId: string | null): boolean =>
      planOrgId === deviceOrgId || (planOrgId === null && unboundReachAll),

    /**
     * Runs a transaction that changes plans or what they depend on. To avoid deadlocks, it locks rows first and calls `bump`
     * last. If it does not call `bump`, no assignment has changed.
     */
    async change<T>(work: (tx: Executor, bump: Bump) => Promise<T>): Promise<T> {
      let bumped = false
      const result = await database.transaction((tx) => {
        bumped = false
        return work(tx, () => {
          bumped = true
          return plansStore.bump(tx)
        })
      })
      if (bumped) await catchUp()
      return result
    },

    /** Adds to a plan's history and publishes the change, in the transaction that makes it. */
    async record(tx: Executor, plan: Pick<PlanChange, 'kind' | 'id' | 'orgId'>, event: PlanEvent): Promise<void> {
      await plansStore.addEvent(tx, plan.id, event)
      const { kind, id, orgId } = plan
      await planChanged(tx, { kind, id, orgId, status: event.status, percentage: event.percentage })
    },

    planChanged,

    /** Oldest first. */
    history: (planId: string, page: { limit: number; offset: number }) => plansStore.events(database.sql, planId, page),

    /** Returns the organization of a plan, even if it is over or deleted; null if it never existed. */
    owner: (planId: string) => plansStore.owner(database.sql, planId),

    /** Returns the upload that a target names, or null. */
    offerOf,

    /** True if the version that a target names is uploaded. */
    isUploaded: async (target: Target, db?: Executor): Promise<boolean> => (await offerOf(target, db)) !== null,
  }
}

const byModel = (plans: readonly Plan[]): ReadonlyMap<string, readonly Plan[]> => {
  const found = new Map<string, Plan[]>()
  for (const plan of plans) {
    for (const modelId of new Set(targetsOf(plan).map((target) => target.modelId))) {
      if (modelId === null) continue
      const ofModel = found.get(modelId)
      if (ofModel === undefined) found.set(modelId, [plan])
      else ofModel.push(plan)
    }
  }
  return found
}

const groupsOf = (plan: Plan): readonly string[] => {
  if (plan.kind === 'experiment') return plan.groupIds ?? []
  return plan.kind === 'rollout' && plan.groupId !== null ? [plan.groupId] : []
}

export type DeliveryPlans = ReturnType<typeof createDeliveryPlans>
