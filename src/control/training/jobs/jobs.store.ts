import { type Selectable, sql } from 'kysely'
import type { EndedBy, Ending } from '../../../domain/job-endings.ts'
import type { JobSettings, JobStatus } from '../../../domain/training-job.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { TrainingJobRow } from '../../../platform/db/training-rows.ts'

export interface StoredJob {
  readonly id: string
  readonly orgId: string | null
  readonly name: string | null
  readonly status: JobStatus
  readonly settings: JobSettings
  /** In lists: `hyperparameters` if they were too large, and are empty. */
  readonly omitted?: readonly string[]
  /** The model that the job began from; `latestModelId` is the latest that its rounds have made. */
  readonly modelId: string | null
  readonly latestModelId: string | null
  readonly groupId: string | null
  readonly federationId: string | null
  readonly roundsCompleted: number
  readonly roundsFailedInARow: number
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  /** The current value of adaptive clipping; null before it has changed. */
  readonly clipNorm: number | null
  /** How the job ends once its last model is evaluated; null unless that evaluation is open. */
  readonly ending: Ending | null
  readonly endedBy: EndedBy | null
  readonly reason: string | null
  /** Until when the job waits for devices or for the evaluation of its last model; null while it does not. */
  readonly waitingUntil: Date | null
  /** What the job waits for, in a sentence; null while it does not. */
  readonly waitingFor: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** When it was last resumed or extended. */
  readonly resumedAt: Date | null
  /** When retention deleted the state that its strategy keeps between rounds. */
  readonly stateDeletedAt: Date | null
}

interface JobChanges {
  status: JobStatus
  /** JSON text. */
  settings: string
  latest_model_id: string
  rounds_completed: number
  rounds_failed_in_a_row: number
  state_sha256: string | null
  control_sha256: string | null
  clip_norm: number | null
  ending: string | null
  ended_by: EndedBy | null
  reason: string | null
  waiting_until: Date | null
  waiting_for: string | null
  started_at: Date
  ended_at: Date | null
  resumed_at: Date
  state_deleted_at: Date
}

export const jobsStore = {
  async insert(db: Executor, job: StoredJob): Promise<void> {
    await db
      .insertInto('training_jobs')
      .values({
        id: job.id,
        org_id: job.orgId,
        name: job.name,
        status: job.status,
        settings: JSON.stringify(job.settings),
        model_id: job.modelId,
        latest_model_id: job.latestModelId,
        group_id: job.groupId,
        federation_id: job.federationId,
        clip_norm: job.clipNorm,
        created_at: job.createdAt,
      })
      .execute()
  },

  async find(db: Executor, id: string): Promise<StoredJob | null> {
    const row = await db.selectFrom('training_jobs').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The job, locked until the transaction ends. */
  async lock(tx: Executor, id: string): Promise<StoredJob | null> {
    const row = await tx.selectFrom('training_jobs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Locks the job; null if it has ended or only awaits evaluations. Without `isAwaited`, also null if it is locked already. */
  async lockOngoing(
    tx: Executor,
    id: string,
    { isAwaited }: { readonly isAwaited: boolean },
  ): Promise<StoredJob | null> {
    const { rows } = await sql<Selectable<TrainingJobRow>>`
      select * from training_jobs where id = ${id} and ended_at is null and ending is null
      for update ${isAwaited ? sql`` : sql`skip locked`}`.execute(tx)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** Jobs that began to wait for devices while the clock was ahead begin to wait now. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    const wait = sql`(settings->>'waitForDevicesSeconds')::float8 * interval '1 second'`
    await sql`update training_jobs set waiting_until = ${now}::timestamptz + ${wait}
      where ended_at is null and ending is null and waiting_until > ${latestTrusted(now)} + ${wait}`.execute(db)
  },

  async update(tx: Executor, id: string, changes: Partial<JobChanges>): Promise<void> {
    await tx.updateTable('training_jobs').set(changes).where('id', '=', id).execute()
  },

  /**
   * Jobs whose organization has no round in progress; with `ofOrgOf`, only those in that job's organization. Sorted by how long
   * they have waited, longest first, so that the jobs of one organization take turns.
   */
  async idle(db: Executor, ofOrgOf?: string): Promise<StoredJob[]> {
    const inOrg = sql`and coalesce(j.org_id, '') = (select coalesce(o.org_id, '') from training_jobs o where o.id = ${ofOrgOf})`
    const { rows } = await sql<Selectable<TrainingJobRow>>`
      select j.* from training_jobs j
      left join lateral (
        select ended_at as at from rounds r where r.job_id = j.id order by round_number desc limit 1) as latest on true
      where j.ended_at is null and j.ending is null ${ofOrgOf === undefined ? sql`` : inOrg} and not exists (
        select from rounds r where coalesce(r.org_id, '') = coalesce(j.org_id, '')
          and r.status in ('pending', 'active', 'aggregating'))
      order by coalesce(latest.at, j.created_at), j.ordinal`.execute(db)
    return rows.map(fromRow)
  },
}

/** The columns that jobs are read from, besides the settings. */
export const JOB_COLUMNS = [
  'id',
  'org_id',
  'name',
  'status',
  'model_id',
  'latest_model_id',
  'group_id',
  'federation_id',
  'rounds_completed',
  'rounds_failed_in_a_row',
  'state_sha256',
  'control_sha256',
  'clip_norm',
  'ending',
  'ended_by',
  'reason',
  'waiting_until',
  'waiting_for',
  'created_at',
  'started_at',
  'ended_at',
  'resumed_at',
  'state_deleted_at',
] as const

type JobColumns = Pick<Selectable<TrainingJobRow>, (typeof JOB_COLUMNS)[number] | 'settings'>

export const fromRow = (row: JobColumns): StoredJob => ({
  id: row.id,
  orgId: row.org_id,
  name: row.name,
  status: row.status as JobStatus,
  settings: row.settings as unknown as JobSettings,
  modelId: row.model_id,
  latestModelId: row.latest_model_id,
  groupId: row.group_id,
  federationId: row.federation_id,
  roundsCompleted: row.rounds_completed,
  roundsFailedInARow: row.rounds_failed_in_a_row,
  stateSha256: row.state_sha256,
  controlSha256: row.control_sha256,
  clipNorm: row.clip_norm,
  ending: row.ending as unknown as Ending | null,
  endedBy: row.ended_by as EndedBy | null,
  reason: row.reason,
  waitingUntil: row.waiting_until,
  waitingFor: row.waiting_for,
  createdAt: row.created_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  resumedAt: row.resumed_at,
  stateDeletedAt: row.state_deleted_at,
})
