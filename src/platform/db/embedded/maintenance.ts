import type { PGlite } from '@electric-sql/pglite'

// The work of PostgreSQL's background processes on a server; PGlite has none. Without it the write-ahead log would grow without
// limit, dead rows would never be reclaimed, and after 2^31 transactions the database would stop to avoid wraparound.
const CHECKPOINT_AFTER_BYTES = 32 * 2 ** 20
const CHECKPOINT_AFTER_MS = 60_000
const VACUUM_ALL_AFTER_MS = 3_600_000

export const createMaintenance = (db: PGlite, startedAt: number) => {
  let checkpointAt = startedAt
  let checkpointLsn: string | undefined
  let vacuumAllAt = startedAt

  const written = async (): Promise<number> => {
    const { rows } = await db.query<{ lsn: string; bytes: number }>(
      `select pg_current_wal_insert_lsn()::text as lsn,
        (pg_current_wal_insert_lsn() - $1::pg_lsn)::float8 as bytes`,
      [checkpointLsn ?? '0/0'],
    )
    const position = rows[0]
    if (position === undefined) return 0
    if (checkpointLsn === undefined) {
      checkpointLsn = position.lsn
      return 0
    }
    return position.bytes
  }

  const checkpoint = async (now: number, force: boolean): Promise<number> => {
    const bytes = await written()
    const due = bytes >= CHECKPOINT_AFTER_BYTES || (bytes > 0 && now - checkpointAt >= CHECKPOINT_AFTER_MS)
    if (!due && !force) return 0
    await db.exec('checkpoint')
    checkpointAt = now
    checkpointLsn = undefined
    await written()
    return 1
  }

  // Autovacuum's rule (a fifth of the rows dead, or a tenth changed since the last analyze), one table at a time, so that other
  // queries wait for only one table.
  const vacuumNeediest = async (): Promise<number> => {
    const { rows } = await db.query<{ name: string }>(
      `select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
       where n_dead_tup > 1000 + 0.2 * n_live_tup or n_mod_since_analyze > 1000 + 0.1 * n_live_tup
       order by n_dead_tup + n_mod_since_analyze desc limit 1`,
    )
    const table = rows[0]
    if (table === undefined) return 0
    await db.exec(`vacuum (analyze) ${table.name}`)
    return 1
  }

  const vacuumAll = async (now: number): Promise<number> => {
    await db.exec('vacuum (analyze)')
    vacuumAllAt = now
    return 1
  }

  return {
    /** Does what is due; `force` does everything now. Returns what it did. Must not be called inside a transaction. */
    run: async (now: number, force = false) => ({
      vacuums: force || now - vacuumAllAt >= VACUUM_ALL_AFTER_MS ? await vacuumAll(now) : await vacuumNeediest(),
      checkpoints: await checkpoint(now, force),
    }),
  }
}
