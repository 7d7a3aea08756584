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

  /** Bytes that nothing refers to and that were last wanted before `before`. */
  async unreferenced(db: Executor, before: Date, limit: number): Promise<string[]> {
    const { rows } = await sql<{ sha256: string }>`
      select sha256 from blobs b where ${unreferencedSince(before)} limit ${limit}`.execute(db)
    return rows.map((row) => row.sha256)
  },

  /** Deletes the record if it is still unreferenced; the row stays locked until the transaction ends. */
  async forget(db: Executor, sha256: string, before: Date): Promise<boolean> {
    const { rows } = await sql`
      delete from blobs b where sha256 = ${sha256} and ${unreferencedSince(before)} returning sha256`.execute(db)
    return rows.length === 1
  },
})

const unreferencedSince = (before: Date) => sql`
  b.touched_at < ${before}
  and not exists (select 1 from model_versions v where v.sha256 = b.sha256)
  and not exists (select 1 from updates u where u.sha256 = b.sha256)
  and not exists (select 1 from rounds r where r.global_sha256 = b.sha256 or r.aggregated_sha256 = b.sha256)`

export type FilesStore = ReturnType<typeof createFilesStore>
