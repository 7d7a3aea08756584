import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Evaluation, MetricSummaries, StatedGoal } from '../../../domain/metrics.ts'
import type { Accountant } from '../../../domain/privacy/accountant.ts'
import type { RoundStatus } from '../../../domain/round.ts'
import type { StrategyOptions } from '../../../domain/strategy-options.ts'
import type { StrategyName } from '../../../domain/strategy-rules.ts'
import { isLarge } from '../../../platform/db/large-values.ts'
import type { RoundRow } from '../../../platform/db/training-rows.ts'
import type { SecureSettings } from '../../../secure-aggregation/settings.ts'

export interface StoredRound {
  readonly id: string
  readonly orgId: string | null
  readonly roundNumber: number
  readonly status: RoundStatus
  readonly targetDevices: number
  readonly minDevices: number
  readonly timeoutSeconds: number
  readonly graceSeconds: number
  readonly plan: RoundPlan
  readonly takingPart: number
  readonly participatedDevices: number
  readonly completedDevices: number
  readonly failedDevices: number
  readonly globalModelId: string | null
  readonly globalModelVersion: number | null
  readonly globalSha256: string | null
  readonly aggregatedModelId: string | null
  readonly aggregatedSha256: string | null
  readonly quorumAt: Date | null
  readonly failureReason: string | null
  readonly attempts: number
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly timeoutAt: Date
  /** When a private round ends at the latest, whatever has arrived; null if the round is not private. */
  readonly closesAt: Date | null
  readonly completedAt: Date | null
  readonly endedAt: Date | null
  readonly updatesDeletedAt: Date | null
  /** Null for a standalone round. */
  readonly jobId: string | null
  /** Only devices of this group take part. */
  readonly groupId: string | null
  /** Devices of every active member take part. */
  readonly federationId: string | null
  /** How many updates it accepts; null for those of all participants. */
  readonly wantedUpdates: number | null
  /** The inputs of its strategy: the previous round's server state, and the control variate given to devices. */
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  readonly privacy: RoundPrivacy | null
  /** 32 bytes in hex; secret, and deleted with the updates. */
  readonly noiseSeed: string | null
  /** Sample-weighted means of the reported values; null until completed. */
  readonly accuracy: number | null
  readonly loss: number | null
  /** For the models that its devices trained; null until completed, and in rounds that publish none. */
  readonly metrics: MetricSummaries | null
  /** For the model that it distributed, from the devices' updates. */
  readonly globalEvaluation: Evaluation | null
  /** For the model that it made, from the next round's updates or its evaluation step. */
  readonly evaluation: Evaluation | null
  /** Until when devices are asked to evaluate its new model; null if none are. */
  readonly evaluationUntil: Date | null
  /** When the round must next be reviewed for absent devices; null if devices are not replaced. */
  readonly reviewAt: Date | null
  /** When retention deleted the model that the round made; from then on, `fromRow` returns no model. */
  readonly modelDeletedAt: Date | null
}

/** Instructions for devices and aggregation. A plain round has only the first two fields, and `rawVector` if it applies. */
export interface RoundPlan {
  readonly strategy: StrategyName
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly options?: StrategyOptions
  /** How many rounds the job had completed when this one began. */
  readonly step?: number
  /** The direction of the job's metric; absent if the metric's name determines it. */
  readonly goal?: StatedGoal
  /** Devices may deliver to later rounds of the job. */
  readonly asynchronous?: true
  /** Active devices that could have been selected. */
  readonly population?: number
  /** The updates are masked; the service learns only their sum. */
  readonly secure?: SecureSettings
  /**
   * In a secure round, gives a strategy that uses the mean change this change in f64. Absent in older rounds, which first
   * rounded the mean change to the model's types.
   */
  readonly exactMean?: true
  /** The updates, and the model if there is one, are raw float32 vectors. */
  readonly rawVector?: true
}

/** Clipping and noise of one round. */
export interface RoundPrivacy {
  readonly noiseMultiplier: number
  readonly clipNorm: number
  /** The divisor of the noisy sum, regardless of the number of updates: the round's target_devices. */
  readonly denominator: number
  /** The probability that a device is drawn; in rounds without `sampling`, an upper bound. */
  readonly sampleRate: number
  /** How devices were drawn, and from how many; absent before version 1.1, when rounds drew a fixed number. */
  readonly sampling?: 'poisson'
  readonly population?: number
  readonly adaptiveClip: boolean
  /**
   * How the noise is generated: four draws for each element, from a seed that depends on the updates. In rounds of unreleased
   * builds (`sum-of-four`) it does not; absent before version 1.1, when each element got one draw.
   */
  readonly noise?: 'sum-of-four' | 'of-updates'
  /** The privacy cost of this round alone, at `delta`; absent in rounds from before it was recorded. */
  readonly delta?: number
  readonly epsilon?: number
  readonly accountant?: Accountant
}

/** The fields that are set at the start; all others are set later. */
export type NewRound = Pick<
  StoredRound,
  | 'id'
  | 'orgId'
  | 'targetDevices'
  | 'minDevices'
  | 'timeoutSeconds'
  | 'graceSeconds'
  | 'plan'
  | 'globalModelId'
  | 'globalModelVersion'
  | 'globalSha256'
  | 'timeoutAt'
  | 'closesAt'
  | 'jobId'
  | 'groupId'
  | 'federationId'
  | 'wantedUpdates'
  | 'stateSha256'
  | 'controlSha256'
  | 'privacy'
  | 'noiseSeed'
  | 'reviewAt'
> & { readonly startedAt: Date }

/** An active round is due by time or by its last participant: `dueEvent` in SQL. */
export const isDueAt = (now: Date): RawBuilder<boolean> => sql<boolean>`(
  status = 'active' and (timeout_at <= ${now}
    or (closes_at is not null and (closes_at <= ${now} or completed_devices >= taking_part))
    or (closes_at is null and quorum_at is not null and (
      completed_devices >= least(case when plan ? 'asynchronous' then wanted_updates else taking_part end,
        coalesce(wanted_updates, taking_part))
      or quorum_at + grace_seconds * interval '1 second' <= ${now}))))`

/** An active round is due for its next status, or for a review of absent devices. */
export const needsReviewAt = (now: Date): RawBuilder<boolean> =>
  sql<boolean>`(${isDueAt(now)} or (status = 'active' and review_at <= ${now}))`

/**
 * The columns that rounds are read from. They exclude receipt and screening: these have an entry for each update, are larger
 * than all the rest, and are rarely needed.
 */
export const ROUND_COLUMNS = [
  'id',
  'org_id',
  'round_number',
  'status',
  'target_devices',
  'min_devices',
  'timeout_seconds',
  'grace_seconds',
  'plan',
  'taking_part',
  'participated_devices',
  'completed_devices',
  'failed_devices',
  'global_model_id',
  'global_model_version',
  'global_sha256',
  'aggregated_model_id',
  'aggregated_sha256',
  'quorum_at',
  'failure_reason',
  'attempts',
  'created_at',
  'started_at',
  'timeout_at',
  'closes_at',
  'completed_at',
  'ended_at',
  'updates_deleted_at',
  'job_id',
  'group_id',
  'federation_id',
  'wanted_updates',
  'state_sha256',
  'control_sha256',
  'privacy',
  'noise_seed',
  'accuracy',
  'loss',
  'metrics',
  'global_evaluation',
  'evaluation',
  'evaluation_until',
  'review_at',
  'model_deleted_at',
] as const satisfies readonly (keyof RoundRow)[]

/** For lists, which do not show the plan: large plans without their hyperparameters. */
export const LISTED_ROUND_COLUMNS = [
  ...ROUND_COLUMNS.filter((column) => column !== 'plan'),
  sql<RoundRow['plan']>`case when ${isLarge(sql`rounds.plan`)} then plan || '{"hyperparameters": {}}' else plan end`.as(
    'plan',
  ),
] as const

type Column = (typeof ROUND_COLUMNS)[number]
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name
/** A field without a corresponding column does not compile. */
type Read = { readonly [Field in keyof StoredRound]: Field extends Camel<Column> ? StoredRound[Field] : undefined }

const FIELDS = ROUND_COLUMNS.map((column) => {
  const field = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [field, column] as const
})

export const fromRow = (row: Pick<Selectable<RoundRow>, Column>): StoredRound => {
  const round = Object.fromEntries(FIELDS.map(([field, column]) => [field, row[column]])) as unknown as Read
  return row.model_deleted_at === null ? round : { ...round, aggregatedModelId: null, aggregatedSha256: null }
}
