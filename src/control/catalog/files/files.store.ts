import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** An SQL condition that is true while a module refers to the file with this hash. */
export type FileReferences = (sha256: RawBuilder<string>) => RawBuilder<boolean>

export const filesStore = {
  /**
   * Records that the bytes are wanted now: a garbage collector leaves freshly touched bytes alone. Sorted by hash, without
   * duplicates, so that two processes lock rows in the same order.
   */
  async touch(db: Executor, blobs: readonly { sha256: string; size: number }[], now: Date): Promise<void> {
    const sorted = [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()].sort((a, b) =>
      a.sha256 < b.sha256 ? -1 : 1,
    )
    await sql`
      insert into blobs (sha256, size, touched_at, checked_at)
      select sha256, size, ${now}::timestamptz, ${now}::timestamptz
      from unnest(${sorted.map((blob) => blob.sha256)}::text[], ${sorted.map((blob) => blob.size)}::bigint[])
        as wanted (sha256, size)
      on conflict (sha256) do update set touched_at = excluded.touched_at`.execute(db)
  },

  /**
   * Deletes the records of at most `limit` files that nothing refers to and that were last touched before `before`; returns
   * their hashes. The rows stay locked until the transaction ends. Skips rows that others are about to refer to.
   */
  async forgetUnreferenced(
    tx: Executor,
    references: readonly FileReferences[],
    before: Date,
    limit: number,
  ): Promise<string[]> {
    const { rows } = await sql<{ sha256: string }>`
      delete from blobs where sha256 in (
        select sha256 from blobs b where b.touched_at < ${before}
          and not (${isReferenced(references)}) limit ${limit} for update skip locked)
      returning sha256`.execute(tx)
    return rows.map((row) => row.sha256)
  },

  /** Returns the hashes of which there is no record. */
  async unstored(db: Executor, hashes: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ sha256: string }>`
      select sha256 from unnest(${hashes}::text[]) as copies (sha256)
      where not exists (select from blobs b where b.sha256 = copies.sha256)`.execute(db)
    return rows.map(({ sha256 }) => sha256)
  },

  async isReferenced(db: Executor, references: readonly FileReferences[], sha256: string): Promise<boolean> {
    const { rows } = await sql`
      select from blobs b where b.sha256 = ${sha256} and (${isReferenced(references)})`.execute(db)
    return rows.length > 0
  },
}

const inVersions: FileReferences = (sha256) =>
  sql<boolean>`exists (select from model_versions v where v.sha256 = ${sha256})`

/** Of the file in the row `b`. */
const isReferenced = (references: readonly FileReferences[]): RawBuilder<boolean> =>
  sql<boolean>`${sql.join(
    [inVersions, ...references].map((refersTo) => refersTo(sql<string>`b.sha256`)),
    sql` or `,
  )}`
