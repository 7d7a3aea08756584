import {
  type AssignedDevice,
  type Assignment,
  type AssignmentIndex,
  assignmentsOf,
  indexAssignments,
} from '../../../domain/assignment.ts'
import type { Plan, Target } from '../../../domain/delivery-plan.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus, PlanChange } from '../../events.ts'
import type { HeartbeatsService } from '../../fleet/heartbeats/heartbeats.service.ts'
import type { PlansReport } from './plans.report.ts'
import type { PlanEvent, PlansStore } from './plans.store.ts'

export type { PlansReport } from './plans.report.ts'
export type { PlanEvent } from './plans.store.ts'

/** One kind of plan. A store of rollouts, deployments or experiments is one. */
export interface PlanSource {
  /**
   * Every plan of this kind that is in force, of all organizations: running, paused or settled. Settled ones that reach no
   * device, because newer ones have replaced them, may be left out.
   */
  load(db: Executor, report: PlansReport): Promise<Plan[]>
}

/** Counts a change; what was running before is then read anew. Returns the revision, by which plans are older or newer. */
export type Bump = () => Promise<number>

/**
 * The plans in force, kept in memory so that a heartbeat is decided without a query. Whoever changes a plan does it in
 * `change`; this process knows of it when `change` returns, other processes when the hint reaches them.
 */
export const createDeliveryPlans = (parts: {
  readonly database: Database
  readonly store: PlansStore
  readonly report: PlansReport
  readonly sources: readonly PlanSource[]
  /** Whether plans without an organization reach the devices of every organization. */
  readonly unboundReachAll: boolean
  readonly heartbeats: Pick<HeartbeatsService, 'contribute'>
  readonly events: Pick<ControlEventBus, 'inTransaction' | 'afterCommit' | 'publish'>
  /** Called when assignments may have changed. */
  readonly changed: () => void
}) => {
  const { database, store, report, sources, unboundReachAll, heartbeats, events, changed } = parts
  let loadedRevision: number | null = null
  let index: AssignmentIndex = { ofOrg: new Map(), ofOthers: [] }
  let inForce: ReadonlyMap<string, Plan> = new Map()

  const load = async (): Promise<void> => {
    // Read before the plans: what is committed in between moves it, and is then loaded next time.
    const revision = await store.revision(database.sql)
    if (revision === loadedRevision) return
    const plans = (await Promise.all(sources.map((source) => source.load(database.sql, report)))).flat()
    const [offers, groups] = await Promise.all([
      report.offers(
        database.sql,
        plans.flatMap(targetsOf).filter(({ modelId }) => modelId !== null),
      ),
      report.members(database.sql, [...new Set(plans.flatMap(groupsOf))]),
    ])
    index = indexAssignments({ plans, offers, groups, unboundReachAll })
    inForce = new Map(plans.map((plan) => [plan.id, plan]))
    loadedRevision = revision
    changed()
  }

  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  /** Brings memory up to what is committed now. Calls while one is under way share the one that follows it. */
  const refresh = (): Promise<void> => {
    next ??= last = last
      .catch(() => undefined)
      .then(() => {
        next = null
        return load()
      })
    return next
  }

  // A plan may have been waiting for the version, or aim at the group. The change is made, whatever becomes of the reading: it
  // comes round again.
  const catchUp = () => {
    database.hints.send('plans')
    return refresh().catch(() => undefined)
  }
  database.hints.listen('plans', () => void refresh().catch(() => undefined))
  events.inTransaction('version.added', async (tx) => void (await store.bump(tx)))
  events.afterCommit('version.added', catchUp)
  events.inTransaction('group.changed', async (tx, { groupId }) => {
    if (await store.isUsedByPlans(tx, groupId)) await store.bump(tx)
  })
  events.afterCommit('group.changed', catchUp)

  /** What the device is to run, from the plans in this process's memory, without a query. */
  const assignmentsTo = (device: AssignedDevice): readonly Assignment[] => assignmentsOf(index, device)
  heartbeats.contribute({ assignmentsOf: assignmentsTo })

  const announce = (tx: Executor, change: PlanChange): Promise<void> => events.publish(tx, 'plan.changed', change)

  return {
    refresh,

    assignmentsOf: assignmentsTo,

    /** The plan, when it is in force. */
    find: (planId: string): Plan | null => inForce.get(planId) ?? null,

    /** Whether an experiment that is running gives devices versions of this model. */
    tests: (modelId: string): boolean =>
      [...inForce.values()].some(
        (plan) => plan.kind === 'experiment' && plan.variants.some(({ target }) => target.modelId === modelId),
      ),

    /** Whether a plan of one organization can reach a device of another. */
    reaches: (planOrgId: string | null, deviceOrgId: string | null): boolean =>
      planOrgId === deviceOrgId || (planOrgId === null && unboundReachAll),

    /**
     * A transaction that changes plans, or what they stand on. Rows are locked first and `bump` is called last, so that
     * nobody waits in a circle; a body that does not bump has changed nothing that devices are given.
     */
    async change<T>(work: (tx: Executor, bump: Bump) => Promise<T>): Promise<T> {
      let bumped = false
      const result = await database.transaction((tx) => {
        bumped = false
        return work(tx, () => {
          bumped = true
          return store.bump(tx)
        })
      })
      if (bumped) await catchUp()
      return result
    },

    /** In the transaction that changes a plan: adds to its history, and publishes the change. */
    async record(tx: Executor, plan: Pick<PlanChange, 'kind' | 'id' | 'orgId'>, event: PlanEvent): Promise<void> {
      await store.addEvent(tx, plan.id, event)
      const { kind, id, orgId } = plan
      await announce(tx, { kind, id, orgId, status: event.status, percentage: event.percentage })
    },

    announce,

    /** Oldest first. */
    history: (planId: string, page: { limit: number; offset: number }) => store.events(database.sql, planId, page),

    /** The organization of a plan in force or not, deleted or not; null when there never was one. */
    owner: (planId: string) => store.owner(database.sql, planId),

    /** Whether an upload carries the version that a target names. */
    async isUploaded(target: Target, db: Executor = database.sql): Promise<boolean> {
      return target.modelId !== null && (await report.offers(db, [target])).size === 1
    },
  }
}

const targetsOf = (plan: Plan): Target[] =>
  plan.kind === 'experiment' ? plan.variants.map(({ target }) => target) : [plan.target]

const groupsOf = (plan: Plan): readonly string[] => {
  if (plan.kind === 'experiment') return plan.groupIds ?? []
  return plan.kind === 'rollout' && plan.groupId !== null ? [plan.groupId] : []
}

export type DeliveryPlans = ReturnType<typeof createDeliveryPlans>
