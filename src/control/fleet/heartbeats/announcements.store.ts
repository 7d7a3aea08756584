import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/**
 * What heartbeats have to announce, by the ids of later modules. A heartbeat asks those modules only while there is any, so
 * that a fleet without work costs one small table's look-up.
 */
export const createAnnouncementsStore = () => ({
  /** In the transaction that makes it known, so that no heartbeat sees the one without the other. */
  async announce(tx: Executor, subjectId: string): Promise<void> {
    await tx
      .insertInto('announcements')
      .values({ subject_id: subjectId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  /** Nothing is left to be said of them. */
  async withdraw(db: Executor, subjectIds: readonly string[]): Promise<void> {
    await sql`delete from announcements where subject_id = any(${subjectIds}::uuid[])`.execute(db)
  },
})

export type AnnouncementsStore = ReturnType<typeof createAnnouncementsStore>
