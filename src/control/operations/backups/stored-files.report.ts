import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredBlob } from './manifest.ts'

const PAGE = 1000

export const storedFilesReport = {
  /** Returns every stored file, ordered by hash. */
  async *all(db: Executor): AsyncGenerator<StoredBlob> {
    for (let after = ''; ; ) {
      const { rows } = await sql<StoredBlob>`
        select sha256, size from blobs where sha256 > ${after} order by sha256 limit ${PAGE}`.execute(db)
      yield* rows
      if (rows.length < PAGE) return
      after = rows.at(-1)!.sha256
    }
  },

  /** The major version of the server. */
  async postgresVersion(db: Executor): Promise<string> {
    const { rows } = await sql<{ version: string }>`
      select split_part(current_setting('server_version'), '.', 1) as version`.execute(db)
    return rows[0]!.version
  },
}
