/** The states that a device reports for a plan. `ready`: fetched and verified, but not running yet. */
export const REPORT_STATES = ['downloading', 'verifying', 'ready', 'active', 'failed'] as const

export type ReportState = (typeof REPORT_STATES)[number]
export type PlanKind = 'rollout' | 'deployment' | 'experiment'

/** The states of a plan's devices: what they reported, or that the plan was withdrawn. */
export const DEVICE_STATES = [...REPORT_STATES, 'withdrawn'] as const
export type DeviceState = (typeof DEVICE_STATES)[number]

/**
 * When a plan is rolled back or fails, its devices return to their previous versions, which they do not report to it: of their
 * last reports, only failures still hold.
 */
export const withdrawnState = (state: ReportState): 'failed' | 'withdrawn' =>
  state === 'failed' ? 'failed' : 'withdrawn'

/** The same for the number of devices in each state. */
export const withdrawnCounts = <Counts extends Readonly<Record<string, number>>>(
  counts: Counts,
): Counts & { readonly withdrawn: number } => {
  const { failed = 0 } = counts
  const none = Object.fromEntries(Object.keys(counts).map((state) => [state, 0])) as Counts
  const all = Object.values(counts).reduce((sum, devices) => sum + devices, 0)
  return { ...none, failed, withdrawn: all - failed }
}

/** A version of a catalog model or, if modelId is null, a name that devices resolve themselves. */
export interface Target {
  readonly modelId: string | null
  readonly modelName: string | null
  /** As the operator wrote it: `2`, `2.0.0` or a label. */
  readonly version: string
  /** The number of the version that this meant at the plan's creation; absent or null if not yet uploaded. Takes precedence. */
  readonly versionNumber?: number | null
}

/** A target as currently found in the catalog. */
export interface Offer {
  readonly modelId: string | null
  readonly modelName: string | null
  readonly version: string
  readonly versionNumber: number | null
  readonly format: string | null
  readonly size: number | null
  /** 64 lowercase hex digits. */
  readonly sha256: string | null
}

interface PlanCore {
  readonly id: string
  readonly orgId: string | null
  /** The delivery revision at which the plan started: a higher one is newer. */
  readonly startedRevision: number
  /** Finished, but in effect until a newer plan of the same model covers the device. */
  readonly settled: boolean
}

export interface RolloutPlan extends PlanCore {
  readonly kind: 'rollout'
  readonly target: Target
  readonly percentage: number
  /** Limits the plan to this group's devices; null: all devices of the organization. */
  readonly groupId: string | null
}

export interface DeploymentPlan extends PlanCore {
  readonly kind: 'deployment'
  readonly target: Target
  /** Internal ids of the activated devices. */
  readonly deviceIds: ReadonlySet<string>
  /** False until a blue_green deployment switches: devices only prepare the version. */
  readonly activate: boolean
}

export interface ExperimentPlan extends PlanCore {
  readonly kind: 'experiment'
  /** Limits the plan to these groups' devices; null: all devices of the organization. */
  readonly groupIds: readonly string[] | null
  /** In order; allocations sum to 1. */
  readonly variants: readonly { readonly name: string; readonly allocation: number; readonly target: Target }[]
}

export type Plan = RolloutPlan | DeploymentPlan | ExperimentPlan

export const targetsOf = (plan: Plan): Target[] =>
  plan.kind === 'experiment' ? plan.variants.map(({ target }) => target) : [plan.target]

interface OfModel {
  readonly modelId: string
  readonly orgId: string | null
}

const plansOf = (plans: readonly Plan[], { modelId, orgId }: OfModel): Plan[] =>
  plans.filter(
    (plan) =>
      (plan.orgId === orgId || plan.orgId === null) && targetsOf(plan).some((target) => target.modelId === modelId),
  )

const hasReachedAll = (plan: Plan): plan is RolloutPlan =>
  plan.kind === 'rollout' && plan.settled && plan.groupId === null && plan.percentage >= 100

/**
 * Returns the plans that take precedence over a rollout on devices that both cover: running deployments and experiments, and
 * newer rollouts that have reached all devices. `startedRevision`: null if it has not started, so that it will be the newest.
 */
export const plansPreceding = (
  plans: readonly Plan[],
  rollout: OfModel & { readonly startedRevision: number | null; readonly settled: boolean },
): Plan[] => {
  const since = rollout.startedRevision ?? Number.POSITIVE_INFINITY
  const ofModel = plansOf(plans, rollout)
  const newestToAll = Math.max(-1, ...ofModel.filter(hasReachedAll).map(({ startedRevision }) => startedRevision))
  return ofModel.filter((plan) => {
    if (plan.startedRevision < newestToAll) return false
    if (plan.settled) return hasReachedAll(plan) && plan.startedRevision > since
    return plan.kind !== 'rollout' && (!rollout.settled || plan.startedRevision > since)
  })
}

type ExperimentOfModel = OfModel & { readonly startedRevision: number; readonly targetGroups: readonly string[] }

/** Whether two groups have a device in common, as far as their members are known. */
export type Overlap = (one: string, other: string) => boolean

const isElsewhere = (groupIds: readonly string[] | null, targetGroups: readonly string[], overlap: Overlap): boolean =>
  groupIds !== null &&
  targetGroups.length > 0 &&
  !groupIds.some((id) => targetGroups.some((target) => id === target || overlap(id, target)))

/** Returns the completed plans that have replaced an experiment's variants of a model, on all devices or on some. */
export const plansReplacing = (
  plans: readonly Plan[],
  experiment: ExperimentOfModel,
  overlap: Overlap,
): { readonly onAll: RolloutPlan | null; readonly onSome: readonly (RolloutPlan | DeploymentPlan)[] } => {
  const newer = plansOf(
    plans.filter((plan) => plan.settled && plan.startedRevision > experiment.startedRevision),
    experiment,
  ).filter((plan) => plan.kind !== 'experiment')
  const onAll = newer.filter(hasReachedAll).sort((a, b) => b.startedRevision - a.startedRevision)[0] ?? null
  const groupsOf = (plan: Plan) => (plan.kind === 'rollout' && plan.groupId !== null ? [plan.groupId] : null)
  const isHere = (plan: Plan): boolean => !isElsewhere(groupsOf(plan), experiment.targetGroups, overlap)
  return { onAll, onSome: onAll === null ? newer.filter(isHere) : [] }
}

/** Returns the running experiments on the same model and devices: newer ones take precedence over older ones. */
export const experimentsBeside = (plans: readonly Plan[], experiment: ExperimentOfModel, overlap: Overlap) => {
  const beside = plansOf(plans, experiment).filter(
    (plan) => plan.kind === 'experiment' && !isElsewhere(plan.groupIds, experiment.targetGroups, overlap),
  )
  return {
    newer: beside.filter(({ startedRevision }) => startedRevision > experiment.startedRevision),
    older: beside.filter(({ startedRevision }) => startedRevision < experiment.startedRevision),
  }
}

/** Returns equal keys for targets that name the same version of the same model. */
export const targetKey = ({ modelId, modelName, version, versionNumber = null }: Target): string => {
  if (modelId === null) return `name ${modelName}@${version}`
  return versionNumber === null ? `${modelId}@${version}` : `${modelId}@${version}#${versionNumber}`
}
