import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'

/**
 * Jobs and rounds of no organization become the organization's, rounds with the next numbers there. A round in progress
 * stays as it is while another is in progress there.
 */
export const adoptTraining = async (tx: Executor, orgId: string): Promise<void> => {
  await sql`
    update rounds r set org_id = ${orgId}, round_number = r.round_number + (
      select coalesce(max(o.round_number), 0) from rounds o where o.org_id = ${orgId})
    where r.org_id is null and not (r.status in ('pending', 'active', 'aggregating') and exists (
      select from rounds o where o.org_id = ${orgId} and o.status in ('pending', 'active', 'aggregating')))`.execute(tx)
  await sql`update training_jobs set org_id = ${orgId} where org_id is null`.execute(tx)
}
