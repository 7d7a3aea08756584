import { bucketsIn, murmur3 } from './bucket.ts'
import { type Offer, type Plan, type PlanKind, type Target, targetKey, targetsOf } from './delivery-plan.ts'

/** What one device should run for one model because of a plan. Immutable: shared by all devices with the same assignment. */
export interface Assignment {
  readonly planId: string
  readonly kind: PlanKind
  readonly offer: Offer
  readonly activate: boolean
  readonly variant: string | null
  /** 16 hex digits, equal for equal assignments. */
  readonly tag: string
}

export interface AssignedDevice {
  /** Internal id (uuid), used by groups and deployments. */
  readonly id: string
  /** Chosen by the user; the bucket is computed from it. */
  readonly deviceId: string
  readonly orgId: string | null
}

type Covers = (device: AssignedDevice) => Assignment | null

interface Entry {
  readonly startedRevision: number
  readonly covers: Covers
}

/** The plans of one model: `running` by precedence, `settled` newest first. */
interface ModelPlans {
  readonly running: readonly Entry[]
  readonly settled: readonly Entry[]
}

/** All active plans, indexed for `assignmentsOf`. */
export interface AssignmentIndex {
  readonly ofOrg: ReadonlyMap<string | null, PlansByModel>
  /** For organizations that have no plans themselves. */
  readonly ofOthers: PlansByModel
}

/** By model key, in the order of the keys. */
type PlansByModel = ReadonlyMap<string, ModelPlans>

export interface IndexSources {
  readonly plans: readonly Plan[]
  /** By `targetKey`. A target without an entry has not been uploaded, and gives no assignment. */
  readonly offers: ReadonlyMap<string, Offer>
  /** Internal ids of the devices in each group that plans name. A deleted group has no devices. */
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>
  /** Whether plans without an organization reach the devices of all organizations, as under open enrollment. */
  readonly unboundReachAll: boolean
}

/** The precedence of running plans of one model; within a kind, the newest comes first. */
const PRECEDENCE: Readonly<Record<PlanKind, number>> = { deployment: 0, experiment: 1, rollout: 2 }

/** Returns the index of the share that contains the bucket; shares sum to 1. Rounding never leaves a device without a share. */
export const shareAt = (bucket: number, allocations: readonly number[]): number => {
  let upTo = 0
  for (const [index, allocation] of allocations.entries()) {
    upTo += allocation * 100
    if (bucket < upTo) return index
  }
  return allocations.findLastIndex((allocation) => allocation > 0)
}

const NOBODY: ReadonlySet<string> = new Set()

/** Returns what a plan assigns for each of its models, by model key. */
const coversOf = (plan: Plan, { offers, groups }: IndexSources): Map<string, Covers> => {
  const covers = new Map<string, Covers>()
  const bucketOf = bucketsIn(plan.id)
  const assignmentTo = (target: Target, activate: boolean, variant: string | null): Assignment | null => {
    const offer = target.modelId === null ? byNameAlone(target) : offers.get(targetKey(target))
    if (offer === undefined) return null
    const content = { planId: plan.id, kind: plan.kind, offer, activate, variant }
    let tag: string | undefined
    return {
      ...content,
      // Computed lazily: most plans are reloaded before any device asks for them.
      get tag() {
        tag ??= tagOf(JSON.stringify(content))
        return tag
      },
    }
  }
  switch (plan.kind) {
    case 'rollout': {
      const given = assignmentTo(plan.target, true, null)
      const members = plan.groupId === null ? null : (groups.get(plan.groupId) ?? NOBODY)
      if (given === null || plan.percentage <= 0) break
      covers.set(modelKey(given.offer), (device) => {
        if (members !== null && !members.has(device.id)) return null
        return plan.percentage >= 100 || bucketOf(device.deviceId) < plan.percentage ? given : null
      })
      break
    }
    case 'deployment': {
      const given = assignmentTo(plan.target, plan.activate, null)
      if (given === null) break
      covers.set(modelKey(given.offer), (device) => (plan.deviceIds.has(device.id) ? given : null))
      break
    }
    case 'experiment': {
      const members = plan.groupIds?.map((id) => groups.get(id) ?? NOBODY) ?? null
      const allocations = plan.variants.map(({ allocation }) => allocation)
      const given = plan.variants.map(({ target, name }) => assignmentTo(target, true, name))
      for (const key of new Set(given.flatMap((one) => (one === null ? [] : [modelKey(one.offer)])))) {
        covers.set(key, (device) => {
          if (members !== null && !members.some((group) => group.has(device.id))) return null
          const own = given[shareAt(bucketOf(device.deviceId), allocations)] ?? null
          return own !== null && modelKey(own.offer) === key ? own : null
        })
      }
    }
  }
  return covers
}

const modelKey = ({ modelId, modelName }: Pick<Target, 'modelId' | 'modelName'>): string =>
  modelId ?? `name ${modelName}`

const byNameAlone = ({ modelName, version }: Target): Offer => ({
  modelId: null,
  modelName,
  version,
  versionNumber: null,
  format: null,
  size: null,
  sha256: null,
})

const tagOf = (text: string): string =>
  [0, 0x9747b28c].map((seed) => murmur3(text, seed).toString(16).padStart(8, '0')).join('')

/** Indexes the active plans by organization and model. */
export const indexAssignments = (sources: IndexSources): AssignmentIndex => {
  const { plans, unboundReachAll } = sources
  const byOrg = new Map<string | null, Covered[]>([[null, []]])
  for (const plan of plans) {
    const own = byOrg.get(plan.orgId) ?? []
    byOrg.set(plan.orgId, own)
    own.push({ plan, covers: coversOf(plan, sources) })
  }
  const ofAll = unboundReachAll ? byOrg.get(null)! : []
  const arrangedFor = (orgId: string | null, own: readonly Covered[]) =>
    arrange(orgId === null ? own : [...own, ...ofAll])
  return {
    ofOrg: new Map([...byOrg].map(([orgId, own]) => [orgId, arrangedFor(orgId, own)])),
    ofOthers: arrange(ofAll),
  }
}

interface Covered {
  readonly plan: Plan
  readonly covers: ReadonlyMap<string, Covers>
}

const arrange = (covered: readonly Covered[]): PlansByModel => {
  const models = new Map<string, { plan: Plan; entry: Entry }[]>()
  for (const { plan, covers: byModel } of covered) {
    for (const [key, covers] of byModel) {
      const found = models.get(key) ?? []
      models.set(key, found)
      found.push({ plan, entry: { startedRevision: plan.startedRevision, covers } })
    }
  }
  return new Map([...models].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, found]) => [key, orderOf(found)]))
}

const orderOf = (found: readonly { readonly plan: Plan; readonly entry: Entry }[]): ModelPlans => {
  const newestFirst = [...found].sort((a, b) => b.plan.startedRevision - a.plan.startedRevision)
  const entries = (plans: typeof found) => plans.map(({ entry }) => entry)
  return {
    running: entries(
      newestFirst.filter(({ plan }) => !plan.settled).sort((a, b) => PRECEDENCE[a.plan.kind] - PRECEDENCE[b.plan.kind]),
    ),
    settled: entries(newestFirst.filter(({ plan }) => plan.settled)),
  }
}

/**
 * Returns a device's assignments: at most one per model, in a fixed order. The newest settled plan precedes all older plans.
 * Among newer ones, running deployments precede running experiments, then running rollouts; within a kind, the newest comes
 * first. A rollback needs no saved state: without its plan, a device gets its previous assignment.
 */
export const assignmentsOf = (index: AssignmentIndex, device: AssignedDevice): readonly Assignment[] => {
  const assignments: Assignment[] = []
  for (const plans of plansFor(index, device).values()) {
    const assignment = decide(plans, device)
    if (assignment !== null) assignments.push(assignment)
  }
  return assignments
}

const plansFor = (index: AssignmentIndex, { orgId }: AssignedDevice): PlansByModel =>
  index.ofOrg.get(orgId) ?? index.ofOthers

/** Returns what this plan assigns to the device, or null. Decides on the plan's own models only. */
export const assignmentBy = (index: AssignmentIndex, plan: Plan, device: AssignedDevice): Assignment | null => {
  for (const key of new Set(targetsOf(plan).map(modelKey))) {
    const plans = plansFor(index, device).get(key)
    const assignment = plans === undefined ? null : decide(plans, device)
    if (assignment?.planId === plan.id) return assignment
  }
  return null
}

const decide = ({ running, settled }: ModelPlans, device: AssignedDevice): Assignment | null => {
  let replacing: Assignment | null = null
  let replacedUpTo = -1
  let next = 0
  for (const entry of running) {
    if (entry.startedRevision <= replacedUpTo) continue
    const found = entry.covers(device)
    if (found === null) continue
    // Only as far as needed: a long history has many settled plans.
    while (replacing === null && next < settled.length && settled[next]!.startedRevision >= entry.startedRevision) {
      const newer = settled[next++]!
      replacing = newer.covers(device)
      if (replacing !== null) replacedUpTo = newer.startedRevision
    }
    if (entry.startedRevision > replacedUpTo) return found
  }
  while (replacing === null && next < settled.length) replacing = settled[next++]!.covers(device)
  return replacing
}

/** Returns what a settled plan that is newer than this one assigns to the device for its model; null if there is none. */
export const replacementOf = (
  index: AssignmentIndex,
  plan: Pick<Target, 'modelId' | 'modelName'> & { readonly startedRevision: number },
  device: AssignedDevice,
): Assignment | null => {
  const plans = plansFor(index, device).get(modelKey(plan))
  for (const { startedRevision, covers } of plans?.settled ?? []) {
    if (startedRevision <= plan.startedRevision) return null
    const replacement = covers(device)
    if (replacement !== null) return replacement
  }
  return null
}

/** Equal if and only if the assignments are equal; `none` for no assignments. */
export const tagOfAll = (assignments: readonly Assignment[]): string => {
  if (assignments.length <= 1) return assignments[0]?.tag ?? 'none'
  return tagOf(assignments.map(({ tag }) => tag).join())
}
