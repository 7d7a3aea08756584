import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

export const createFilesStore = () => ({
  /**
   * Records that the bytes are wanted from now on; a garbage collector leaves freshly touched bytes alone. In the order of
   * hashes, each once, so that two processes lock rows in the same order.
   */
  async touch(db: Executor, blobs: readonly { sha256: string; size: number }[], now: Date): Promise<void> {
    const sorted = [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()].sort((a, b) =>
      a.sha256 < b.sha256 ? -1 : 1,
    )
    await sql`
      insert into blobs (sha256, size, touched_at)
      select sha256, size, ${now}::timestamptz
      from unnest(${sorted.map((blob) => blob.sha256)}::text[], ${sorted.map((blob) => blob.size)}::bigint[])
        as wanted (sha256, size)
      on conflict (sha256) do update set touched_at = excluded.touched_at`.execute(db)
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
