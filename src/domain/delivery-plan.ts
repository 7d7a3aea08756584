/** What a device says of a plan. `ready`: fetched and verified, but not running yet. */
export const REPORT_STATES = ['downloading', 'verifying', 'ready', 'active', 'failed'] as const

export type ReportState = (typeof REPORT_STATES)[number]
export type PlanKind = 'rollout' | 'deployment' | 'experiment'

/** What a plan names: a version of a catalog model, or (with a null modelId) a name that devices resolve themselves. */
export interface Target {
  readonly modelId: string | null
  readonly modelName: string | null
  /** As the operator wrote it: `2`, `2.0.0`, a label. */
  readonly version: string
}

/** A target as the catalog has it now. */
export interface Offer {
  readonly modelId: string | null
  readonly modelName: string | null
  readonly version: string
  readonly versionNumber: number | null
  readonly format: string | null
  readonly size: number | null
  /** 64 lower-case hex digits. */
  readonly sha256: string | null
}

interface PlanCore {
  readonly id: string
  readonly orgId: string | null
  /** The delivery revision of its start: the higher, the newer. */
  readonly startedRevision: number
  /** It has run its course and stays in force until a newer plan of the same model covers the device. */
  readonly settled: boolean
}

export interface RolloutPlan extends PlanCore {
  readonly kind: 'rollout'
  readonly target: Target
  readonly percentage: number
  /** Only devices of this group; null: every device of the organization. */
  readonly groupId: string | null
}

export interface DeploymentPlan extends PlanCore {
  readonly kind: 'deployment'
  readonly target: Target
  /** Internal ids of the activated devices. */
  readonly deviceIds: ReadonlySet<string>
  /** False in a blue_green deployment that has not switched yet: devices only make ready. */
  readonly activate: boolean
}

export interface ExperimentPlan extends PlanCore {
  readonly kind: 'experiment'
  /** Only devices of these groups; null: every device of the organization. */
  readonly groupIds: readonly string[] | null
  /** In their order; allocations sum to 1. */
  readonly variants: readonly { readonly name: string; readonly allocation: number; readonly target: Target }[]
}

export type Plan = RolloutPlan | DeploymentPlan | ExperimentPlan

/** The same for targets that name the same version of the same thing. */
export const targetKey = (target: Target): string =>
  target.modelId === null ? `name ${target.modelName}@${target.version}` : `${target.modelId}@${target.version}`
