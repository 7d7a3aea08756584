import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { KeyFile } from '../../../platform/secrets.ts'

/** Which keys the installation uses. */
export const createKeyFilesStore = () => ({
  /** Also makes other starting processes wait until the transaction ends. */
  async locked(tx: Executor): Promise<ReadonlyMap<string, string>> {
    await sql`lock table key_fingerprints in exclusive mode`.execute(tx)
    const rows = await tx.selectFrom('key_fingerprints').selectAll().execute()
    return new Map(rows.map(({ name, fingerprint }) => [name, fingerprint]))
  },

  async record(tx: Executor, name: KeyFile, fingerprint: string): Promise<void> {
    await sql`
      insert into key_fingerprints (name, fingerprint) values (${name}, ${fingerprint})
      on conflict (name) do update set fingerprint = excluded.fingerprint`.execute(tx)
  },

  /** Whether a process has used its keys on this database: every audit entry needs one. */
  async isUsed(tx: Executor): Promise<boolean> {
    return (await tx.selectFrom('audit_heads').select('seq').limit(1).execute()).length === 1
  },
})

export type KeyFilesStore = ReturnType<typeof createKeyFilesStore>
