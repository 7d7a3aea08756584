import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

export interface StoredFile {
  readonly sha256: string
  readonly size: number
}

export interface DamagedFile {
  readonly sha256: string
  readonly size: number
  readonly damage: string
  readonly damagedAt: Date
  /** Versions of models that have this file. */
  readonly versions: readonly { readonly model_id: string; readonly version: number }[]
}

export interface FileChecks {
  readonly files: number
  /** The time of the check that is longest ago; null if there are no files. */
  readonly oldest: Date | null
}

const LISTED = 1000

export const scrubsStore = {
  /** Claims the file with the oldest check, if that was before `before`: no other process gets it. */
  async claim(
    db: Executor,
    { before, now, onlyDamaged }: { readonly before: Date; readonly now: Date; readonly onlyDamaged: boolean },
  ): Promise<StoredFile | null> {
    const { rows } = await sql<StoredFile>`
      update blobs set checked_at = ${now} where sha256 = (
        select sha256 from blobs where checked_at < ${before} and (damaged_at is not null or not ${onlyDamaged}) order by checked_at limit 1 for update skip locked)
      returning sha256, size`.execute(db)
    return rows[0] ?? null
  },

  async newest(db: Executor, limit: number): Promise<readonly (StoredFile & { readonly damage: string | null })[]> {
    return db
      .selectFrom('blobs')
      .select(['sha256', 'size', 'damage'])
      .orderBy('touched_at', 'desc')
      .limit(limit)
      .execute()
  },

  /** Releases a file after a check that could not be made: it is due again at the next run. */
  async release(db: Executor, sha256: string, before: Date): Promise<void> {
    await sql`update blobs set checked_at = ${new Date(before.getTime() - 1)} where sha256 = ${sha256}`.execute(db)
  },

  /** Returns true if the damage is new; false also if the file is no longer wanted. */
  async markDamaged(
    tx: Executor,
    sha256: string,
    { damage, now, checkAt }: { readonly damage: string; readonly now: Date; readonly checkAt: Date },
  ): Promise<boolean> {
    const { rows } = await sql<{ was: Date | null }>`
      update blobs b set damaged_at = coalesce(b.damaged_at, ${now}), damage = ${damage}, checked_at = ${checkAt}
      from (select sha256, damaged_at as was from blobs where sha256 = ${sha256} for update) before
      where b.sha256 = before.sha256 returning was`.execute(tx)
    return rows.length > 0 && rows[0]!.was === null
  },

  /** Returns true if it was marked as damaged. */
  async markGood(tx: Executor, sha256: string): Promise<boolean> {
    const { rows } = await sql`
      update blobs set damaged_at = null, damage = null where sha256 = ${sha256} and damaged_at is not null returning sha256`.execute(
      tx,
    )
    return rows.length > 0
  },

  /** Damaged files of one organization's versions, or all if it is null. Newest first. */
  async damaged(db: Executor, orgId: string | null): Promise<readonly DamagedFile[]> {
    const { rows } = await sql<DamagedFile>`
      select b.sha256, b.size, b.damage, b.damaged_at as "damagedAt", coalesce(v.versions, '[]') as versions
      from blobs b left join lateral (
        select json_agg(json_build_object('model_id', v.model_id, 'version', v.version)) as versions
        from model_versions v join models m on m.id = v.model_id
        where v.sha256 = b.sha256 and (${orgId}::text is null or m.org_id = ${orgId})) v on true
      where b.damaged_at is not null and (${orgId}::text is null or v.versions is not null)
      order by b.damaged_at desc, b.sha256 limit ${LISTED}`.execute(db)
    return rows
  },

  /** Checks of the files of one organization's versions, or of all files if it is null. */
  async checks(db: Executor, orgId: string | null): Promise<FileChecks> {
    const { rows } = await sql<FileChecks>`
      select count(*)::float8 as files, min(checked_at) as oldest from blobs b
      where ${orgId}::text is null or exists (
        select from model_versions v join models m on m.id = v.model_id where v.sha256 = b.sha256 and m.org_id = ${orgId})`.execute(
      db,
    )
    return rows[0]!
  },
}
