import { sql } from 'kysely'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'

export const roundTimesStore = {
  /**
   * Has rounds that were started while the clock was ahead start now, with the steps of secure ones and the time to fetch the plan:
   * they would block their organization until then. Evaluations of last models that began ahead begin now too.
   */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    await sql`
      with ahead as (
        select id, started_at - ${now}::timestamptz as lead from rounds
        where status = 'active' and started_at > ${latestTrusted(now)} order by id for update
      ), steps as (
        update secure_rounds s set deadline_at = deadline_at - lead from ahead where s.round_id = ahead.id
      ), selections as (
        update round_participants p set selected_at = least(selected_at, ${now}) from ahead where p.round_id = ahead.id
      )
      update rounds r set started_at = ${now}, timeout_at = timeout_at - lead, closes_at = closes_at - lead,
        quorum_at = quorum_at - lead, review_at = case when review_at is not null then ${now}::timestamptz end
      from ahead where r.id = ahead.id`.execute(db)
    await sql`
      with ahead as (
        select r.id, r.job_id, (select min(asked_at) from evaluations e where e.round_id = r.id) - ${now}::timestamptz as lead
        from rounds r where evaluation_until > ${latestTrusted(now)} order by id for update
      ), jobs as (
        update training_jobs j set waiting_until = waiting_until - lead from ahead
        where j.id = ahead.job_id and lead > ${latestTrusted(now)} - ${now}::timestamptz and j.ending is not null
      )
      update rounds r set evaluation_until = evaluation_until - lead from ahead
      where r.id = ahead.id and lead > ${latestTrusted(now)} - ${now}::timestamptz`.execute(db)
  },
}
