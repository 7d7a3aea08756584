import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { KeyFile } from '../../../platform/files/key-files.ts'

const all = async (db: Executor): Promise<ReadonlyMap<string, string>> => {
  const rows = await db.selectFrom('key_fingerprints').selectAll().execute()
  return new Map(rows.map(({ name, fingerprint }) => [name, fingerprint]))
}

/** Which keys the installation uses. */
export const keyFilesStore = {
  all,

  /** Also makes other starting processes wait until the transaction ends. */
  async locked(tx: Executor): Promise<ReadonlyMap<string, string>> {
    await sql`lock table key_fingerprints in exclusive mode`.execute(tx)
    return all(tx)
  },

  async record(tx: Executor, name: KeyFile, fingerprint: string): Promise<void> {
    await sql`
      insert into key_fingerprints (name, fingerprint) values (${name}, ${fingerprint})
      on conflict (name) do update set fingerprint = excluded.fingerprint`.execute(tx)
  },

  /** Every audit entry needs `audit.key`. */
  async hasAuditEntries(tx: Executor): Promise<boolean> {
    return (await tx.selectFrom('audit_heads').select('seq').limit(1).execute()).length === 1
  },

  /** `secrets.key` encrypts the secrets of authenticator apps. */
  async hasAuthenticators(tx: Executor): Promise<boolean> {
    const { rows } = await sql`select from people where totp_secret is not null limit 1`.execute(tx)
    return rows.length === 1
  },
}
