import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

export interface StoredBenchmark<Report> {
  readonly id: string
  readonly report: Report
  /** A day, such as 2026-01-31. */
  readonly reportedOn: string
}

export const benchmarksStore = {
  async insert(db: Executor, { id, report, reportedOn }: StoredBenchmark<{ readonly engine: string }>): Promise<void> {
    await db
      .insertInto('benchmarks')
      .values({
        id,
        engine: report.engine,
        report: JSON.stringify(report),
        reported_on: reportedOn,
      })
      .execute()
  },

  /** Newest first. */
  async list<Report>(
    db: Executor,
    page: { readonly engine: string | null; readonly limit: number; readonly offset: number },
  ): Promise<{ readonly total: number; readonly benchmarks: readonly StoredBenchmark<Report>[] }> {
    const { engine, limit, offset } = page
    const requested = db.selectFrom('benchmarks').$if(engine !== null, (query) => query.where('engine', '=', engine!))
    const { total } = await requested.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
    const rows = await requested
      .select(['id', 'report', sql<string>`to_char(reported_on, 'YYYY-MM-DD')`.as('day')])
      .orderBy('ordinal', 'desc')
      .limit(limit)
      .offset(offset)
      .execute()
    return { total, benchmarks: rows.map(({ id, report, day }) => ({ id, report: report as Report, reportedOn: day })) }
  },
}
