import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** Rounds whose new models are being evaluated. */
export const createEvaluationsReport = () => ({
  /** Those whose time is over, or for which no device is waited for that has not said goodbye. */
  async due(db: Executor, now: Date): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select r.id from rounds r where r.evaluation_until is not null and (r.evaluation_until <= ${now} or not exists (
        select from evaluations e join devices d on d.id = e.device_id
        where e.round_id = r.id and e.state = 'asked' and d.status = 'active'))`.execute(db)
    return rows.map((row) => row.id)
  },
})

export type EvaluationsReport = ReturnType<typeof createEvaluationsReport>
