import type { JobStatus } from '../../../domain/training-job.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { visibleTo } from '../rounds/rounds.service.ts'
import { fromRow, type StoredJob } from './jobs.store.ts'

export interface JobFilter {
  /** Null for an unbound key, which sees all jobs. */
  readonly orgId: string | null
  readonly status: JobStatus | undefined
  readonly modelId: string | undefined
}

/** The jobs visible to an organization, including those of its federations. */
export const createJobsReport = () => ({
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
    const rows = await query.selectAll().orderBy('ordinal', 'desc').limit(page.limit).offset(page.offset).execute()
    const { total } = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
    return { jobs: rows.map(fromRow), total }
  },
})

export type JobsReport = ReturnType<typeof createJobsReport>
