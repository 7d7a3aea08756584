import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Evaluation, MetricSummaries, StatedGoal } from '../../../domain/metrics.ts'
import type { Accountant } from '../../../domain/privacy/accountant.ts'
import type { RoundStatus } from '../../../domain/round.ts'
import type { StrategyOptions } from '../../../domain/strategy-options.ts'
import type { StrategyName } from '../../../domain/strategy-rules.ts'
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
  /** When a private round ends, whatever has arrived; null where a round is not private. */
  readonly closesAt: Date | null
  readonly completedAt: Date | null
  readonly endedAt: Date | null
  readonly updatesDeletedAt: Date | null
  /** The job that it is a round of; null: a standalone round. */
  readonly jobId: string | null
  /** Only devices of this group take part. */
  readonly groupId: string | null
  /** Devices of every active member take part. */
  readonly federationId: string | null
  /** After so many updates it stops accepting more; null: after those of all that take part. */
  readonly wantedUpdates: number | null
  /** What its strategy starts from: the last round's server state, and the control variate handed to devices. */
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  readonly privacy: RoundPrivacy | null
  /** 32 bytes in hex; secret, and gone with the updates. */
  readonly noiseSeed: string | null
  /** Sample-weighted means of what was reported; null until completed. */
  readonly accuracy: number | null
  readonly loss: number | null
  /** Of the models that its devices trained; null until completed, and in rounds that publish none. */
  readonly metrics: MetricSummaries | null
  /** Of the model that it distributed, as the devices' updates brought it. */
  readonly globalEvaluation: Evaluation | null
  /** Of the model that it made, as the next round's updates or its evaluation step brought it. */
  readonly evaluation: Evaluation | null
  /** Until when devices are asked to evaluate its new model; null while none is. */
  readonly evaluationUntil: Date | null
  /** When it must next be reviewed for absent devices; null where devices are not replaced. */
  readonly reviewAt: Date | null
  /** When retention deleted the model that it made; then it has none. */
  readonly modelDeletedAt: Date | null
}

/** What is asked of the devices and of the aggregation. A plain round has the first two, and `rawVector` where it applies. */
export interface RoundPlan {
  readonly strategy: StrategyName
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly options?: StrategyOptions
  /** Rounds that its job had completed when it began. */
  readonly step?: number
  /** The direction of the metric that its job optimizes; absent where the metric's name tells it. */
  readonly goal?: StatedGoal
  /** Devices may deliver to later rounds of the job. */
  readonly asynchronous?: true
  /** Active devices that could have been selected. */
  readonly population?: number
  /** Its updates are masked; the service learns only their sum. */
  readonly secure?: SecureSettings
  /**
   * A secure round of a strategy that uses the mean change: it gets that in f64. Absent in rounds from before this, whose mean
   * change was rounded to the model's types first.
   */
  readonly exactMean?: true
  /** Its updates, and its model if it has one, are raw float32 vectors. */
  readonly rawVector?: true
}

/** Clipping and noise of one round. */
export interface RoundPrivacy {
  readonly noiseMultiplier: number
  readonly clipNorm: number
  /** The divisor of the noisy sum, regardless of the number of updates: the round's target_devices. */
  readonly denominator: number
  /** Every device's chance to be drawn. In rounds without `sampling` an upper bound of it. */
  readonly sampleRate: number
  /** How devices were drawn, and among how many; absent in rounds from before version 1.1, which drew a fixed number. */
  readonly sampling?: 'poisson'
  readonly population?: number
  readonly adaptiveClip: boolean
  /** How its noise is made; absent in rounds from before version 1.1: one draw for each element. */
  readonly noise?: 'sum-of-four'
  /** The privacy cost of this round alone, at `delta`; absent in rounds from before it was recorded. */
  readonly delta?: number
  readonly epsilon?: number
  readonly accountant?: Accountant
}

/** What the start decides; all other fields are set later. */
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

/** The clock, or its last participant, has made an active round due: `dueEvent` in SQL. */
export const isDueAt = (now: Date): RawBuilder<boolean> => sql<boolean>`(
  status = 'active' and (timeout_at <= ${now}
    or (closes_at is not null and (closes_at <= ${now} or completed_devices >= taking_part))
    or (closes_at is null and quorum_at is not null and (
      completed_devices >= least(case when plan ? 'asynchronous' then wanted_updates else taking_part end,
        coalesce(wanted_updates, taking_part))
      or quorum_at + grace_seconds * interval '1 second' <= ${now}))))`

/** An active round that is due: for its next status, or for a review of absent devices. */
export const isToBeSeenAt = (now: Date): RawBuilder<boolean> =>
  sql<boolean>`(${isDueAt(now)} or (status = 'active' and review_at <= ${now}))`

/**
 * What a round is read from. Its receipt and screening are not: with a line for each update they are larger than all the rest,
 * and few ask for them.
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

type Column = (typeof ROUND_COLUMNS)[number]
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name
/** A field without a column of its name does not compile. */
type Read = { readonly [Field in keyof StoredRound]: Field extends Camel<Column> ? StoredRound[Field] : undefined }

const FIELDS = ROUND_COLUMNS.map((column) => {
  const field = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [field, column] as const
})

export const fromRow = (row: Pick<Selectable<RoundRow>, Column>): StoredRound => {
  const round = Object.fromEntries(FIELDS.map(([field, column]) => [field, row[column]])) as unknown as Read
  return row.model_deleted_at === null ? round : { ...round, aggregatedModelId: null, aggregatedSha256: null }
}
