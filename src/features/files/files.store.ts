import { sql } from 'kysely'
import type { Executor } from '../../db/open.ts'

export const createFilesStore = () => ({
  /** Records that the bytes are wanted from now on; a garbage collector leaves freshly touched bytes alone. */
  async touch(db: Executor, blob: { sha256: string; size: number }, now: Date): Promise<void> {
    await db
      .insertInto('blobs')
      .values({ sha256: blob.sha256, size: blob.size, touched_at: now })
      .onConflict((conflict) => conflict.column('sha256').doUpdateSet({ touched_at: now }))
      .execute()
  },

  /**
   * Deletes the records of at most `limit` files that nothing refers to and that were last wanted before `before`; returns
   * their hashes. The rows stay locked until the transaction ends. Rows that somebody is about to refer to are skipped.
   */
  async forgetUnreferenced(tx: Executor, before: Date, limit: number): Promise<string[]> {
    const { rows } = await sql<{ sha256: string }>`
      delete from blobs where sha256 in (
        select sha256 from blobs b where ${unreferencedSince(before)} limit ${limit} for update skip locked)
      returning sha256`.execute(tx)
    return rows.map((row) => row.sha256)
  },
})

const unreferencedSince = (before: Date) => sql`
  b.touched_at < ${before}
  and not exists (select 1 from model_versions v where v.sha256 = b.sha256)
  and not exists (select 1 from updates u where u.sha256 = b.sha256)
  and not exists (select 1 from updates u where u.control_sha256 = b.sha256)
  and not exists (select 1 from training_jobs j where j.state_sha256 = b.sha256)
  and not exists (select 1 from training_jobs j where j.control_sha256 = b.sha256)
  and not exists (select 1 from rounds r where b.sha256 in (r.global_sha256, r.aggregated_sha256, r.state_sha256,
    r.control_sha256))`

export type FilesStore = ReturnType<typeof createFilesStore>
