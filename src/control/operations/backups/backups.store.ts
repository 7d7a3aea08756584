import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { BackupRow } from '../../../platform/db/operations-rows.ts'
import type { FileReferences } from '../../catalog/files/files.service.ts'

export interface Backup {
  readonly id: string
  readonly name: string
  readonly target: string
  readonly isScheduled: boolean
  readonly status: 'running' | 'completed' | 'failed'
  readonly reason: string | null
  readonly database: string | null
  readonly files: number | null
  readonly bytes: number | null
  readonly copiedFiles: number | null
  readonly copiedBytes: number | null
  readonly unreadableFiles: number | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** While a backup is being made, no file is deleted, because the copy of the database may refer to it. */
export const whileRunning: FileReferences = () => sql<boolean>`exists (select from backups where status = 'running')`

const KEPT = 1000
/** By the database's clock. */
const LEASE = sql`now() + interval '60 seconds'`

export const backupsStore = {
  /**
   * Returns false if another one is running. Otherwise deletes the oldest, whatever their status, but not the latest complete one,
   * whose age is a metric.
   */
  async insert(
    db: Executor,
    backup: Pick<Backup, 'id' | 'name' | 'target' | 'isScheduled'>,
    now: Date,
  ): Promise<boolean> {
    const { rows } = await sql`
      insert into backups (id, name, target, scheduled, status, lease_until, created_at)
      values (${backup.id}, ${backup.name}, ${backup.target}, ${backup.isScheduled}, 'running', ${LEASE}, ${now})
      on conflict do nothing returning id`.execute(db)
    await sql`delete from backups where ordinal <= (select max(ordinal) from backups) - ${KEPT}
      and ordinal <> coalesce((select max(ordinal) from backups where status = 'completed'), 0)`.execute(db)
    return rows.length > 0
  },

  /** True while the backup still counts as running. */
  async renew(db: Executor, id: string): Promise<boolean> {
    const { rows } = await sql`
      update backups set lease_until = ${LEASE} where id = ${id} and status = 'running' returning id`.execute(db)
    return rows.length > 0
  },

  async complete(
    db: Executor,
    id: string,
    done: Pick<
      Backup,
      'database' | 'files' | 'bytes' | 'copiedFiles' | 'copiedBytes' | 'unreadableFiles' | 'verifiedAt'
    >,
    now: Date,
  ): Promise<void> {
    await sql`
      update backups set status = 'completed', database = ${done.database}, files = ${done.files}, bytes = ${done.bytes},
        copied_files = ${done.copiedFiles}, copied_bytes = ${done.copiedBytes},
        unreadable_files = ${done.unreadableFiles}, verified_at = ${done.verifiedAt}, lease_until = null, ended_at = ${now}
      where id = ${id} and status = 'running'`.execute(db)
  },

  async fail(db: Executor, id: string, reason: string, now: Date): Promise<void> {
    await sql`update backups set status = 'failed', reason = ${reason}, lease_until = null, ended_at = ${now}
      where id = ${id} and status = 'running'`.execute(db)
  },

  /** Fails running backups with expired leases, or all running ones. */
  async failAbandoned(db: Executor, now: Date, all = false): Promise<void> {
    const reason = 'The service ended while the backup was made, or was restored from it.'
    await sql`update backups set status = 'failed', reason = ${reason}, lease_until = null, ended_at = ${now}
      where status = 'running' and (${all} or lease_until < now())`.execute(db)
  },

  async find(db: Executor, id: string): Promise<Backup | null> {
    const { rows } = await sql<Selectable<BackupRow>>`select * from backups where id::text = ${id}`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** Newest first. */
  async list(db: Executor, limit: number): Promise<readonly Backup[]> {
    const { rows } = await sql<Selectable<BackupRow>>`
      select * from backups order by ordinal desc limit ${limit}`.execute(db)
    return rows.map(fromRow)
  },

  /** Returns the latest backup to this target, whatever its status. */
  async latest(db: Executor, target: string): Promise<Backup | null> {
    const { rows } = await sql<Selectable<BackupRow>>`
      select * from backups where target = ${target} order by ordinal desc limit 1`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },
}

const fromRow = (row: Selectable<BackupRow>): Backup => ({
  id: row.id,
  name: row.name,
  target: row.target,
  isScheduled: row.scheduled,
  status: row.status as Backup['status'],
  reason: row.reason,
  database: row.database,
  files: row.files,
  bytes: row.bytes,
  copiedFiles: row.copied_files,
  copiedBytes: row.copied_bytes,
  unreadableFiles: row.unreadable_files,
  verifiedAt: row.verified_at,
  createdAt: row.created_at,
  endedAt: row.ended_at,
})
