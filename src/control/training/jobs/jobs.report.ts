import { sql } from 'kysely'
import type { JobStatus } from '../../../domain/training-job.ts'
import { isLarge, LARGE } from '../../../platform/db/large-values.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { visibleTo } from '../rounds/rounds.service.ts'
import { fromRow, JOB_COLUMNS, type StoredJob } from './jobs.store.ts'

interface JobFilter {
  /** Null for an unbound key, which sees all jobs. */
  readonly orgId: string | null
  readonly status: JobStatus | undefined
  readonly modelId: string | undefined
}

const SETTINGS = sql`training_jobs.settings`
/** What makes settings large are the hyperparameters. */
const LISTED_SETTINGS = sql<
  Record<string, unknown>
>`case when ${isLarge(SETTINGS)} then ${SETTINGS} || jsonb_build_object('hyperparameters', ${LARGE}::text) else ${SETTINGS} end`

/** The jobs visible to an organization, including those of its federations. */
export const jobsReport = {
  /** Newest first. */
  async list(
    db: Executor,
    filter: JobFilter,
    page: { limit: number; offset: number },
  ): Promise<{ jobs: StoredJob[]; total: number }> {
    const { orgId, status, modelId } = filter
    let query = db.selectFrom('training_jobs').where(visibleTo(orgId))
    if (status !== undefined) query = query.where('status', '=', status)
    if (modelId !== undefined) query = query.where('model_id', '=', modelId)
    const rows = await query
      .select([...JOB_COLUMNS, LISTED_SETTINGS.as('settings')])
      .orderBy('ordinal', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
    const jobs = rows.map((row) => {
      if (row.settings.hyperparameters !== LARGE) return fromRow(row)
      return {
        ...fromRow({ ...row, settings: { ...row.settings, hyperparameters: {} } }),
        omitted: ['hyperparameters'],
      }
    })
    return { jobs, total }
  },
}
