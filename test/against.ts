import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, Executor } from '../src/platform/db/open.ts'

/**
 * Runs `work` while the transaction of another process, with `change`, is open on the PostgreSQL server. The transaction commits
 * once a statement waits for it, or `work` has ended.
 */
export const against = async <T>(
  { sql: db }: Database,
  change: (tx: Executor) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> => {
  let isWorking = true
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows.length > 0
  }
  // Not the service's kind of transaction, because `work` must not belong to it.
  const working = db.transaction().execute(async (tx) => {
    await change(tx)
    const result = work().finally(() => {
      isWorking = false
    })
    result.catch(() => undefined)
    while (isWorking && !(await isWaiting())) await wait(10)
    return { result }
  })
  return (await working).result
}
