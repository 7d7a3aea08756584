import { sql } from 'kysely'
import type { UploadParts } from '../../../platform/blobs/shared-partial-files.ts'
import type { Database } from '../../../platform/db/open.ts'

/** When a silent writer counts as dead, by the database's clock, which all processes share. */
const UNTIL = sql<Date>`clock_timestamp() + interval '2 minutes'`

/** The parts of unfinished uploads that are in S3. */
export const createUploadParts = ({ database, now }: { database: Database; now: () => Date }): UploadParts => ({
  async size(name) {
    const row = await database.sql
      .selectFrom('partial_uploads')
      .select('size')
      .where('name', '=', name)
      .executeTakeFirst()
    return Number(row?.size ?? 0)
  },

  async lock(name, writer) {
    const { rows } = await sql`
      insert into partial_uploads (name, writer, writer_until, touched_at) values (${name}, ${writer}, ${UNTIL}, ${now()})
      on conflict (name) do update set writer = excluded.writer, writer_until = excluded.writer_until
      where partial_uploads.writer is null or partial_uploads.writer_until < clock_timestamp()
      returning name`.execute(database.sql)
    return rows.length === 1
  },

  async lockUntouched(name, writer, before) {
    const { numUpdatedRows } = await database.sql
      .updateTable('partial_uploads')
      .set({ writer, writer_until: UNTIL })
      .where('name', '=', name)
      .where('touched_at', '<', before)
      .where((row) => row.or([row('writer', 'is', null), row('writer_until', '<', sql<Date>`clock_timestamp()`)]))
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  async renew(name, writer) {
    const { numUpdatedRows } = await database.sql
      .updateTable('partial_uploads')
      .set({ writer_until: UNTIL })
      .where('name', '=', name)
      .where('writer', '=', writer)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  async unlock(name, writer) {
    await database.sql
      .updateTable('partial_uploads')
      .set({ writer: null, writer_until: null })
      .where('name', '=', name)
      .where('writer', '=', writer)
      .execute()
  },

  async announce(name, start) {
    await database.sql
      .insertInto('upload_parts')
      .values({ upload: name, start })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  record: (name, writer, part) =>
    database.transaction(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('partial_uploads')
        .set({ size: part.start + part.size, touched_at: now(), writer_until: UNTIL })
        .where('name', '=', name)
        .where('writer', '=', writer)
        .executeTakeFirst()
      if (numUpdatedRows !== 1n) return false
      await tx
        .updateTable('upload_parts')
        .set({ size: part.size })
        .where('upload', '=', name)
        .where('start', '=', part.start)
        .execute()
      return true
    }),

  async of(name) {
    const rows = await database.sql
      .selectFrom('upload_parts')
      .select(['start', 'size'])
      .where('upload', '=', name)
      .orderBy('start')
      .execute()
    return rows.map(({ start, size }) => ({ start: Number(start), size: Number(size) }))
  },

  async forget(name) {
    await database.sql.deleteFrom('partial_uploads').where('name', '=', name).execute()
  },

  async untouchedSince(before) {
    const rows = await database.sql
      .selectFrom('partial_uploads')
      .select('name')
      .where('touched_at', '<', before)
      .orderBy('touched_at')
      .limit(1000)
      .execute()
    return rows.map(({ name }) => name)
  },

  async unlockAll() {
    await database.sql.updateTable('partial_uploads').set({ writer: null, writer_until: null }).execute()
  },
})
