import type { Selectable } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { SessionRow } from '../../../platform/db/rows.ts'

/** A browser's session as it is kept: never its token, only the SHA-256 of it. */
export interface StoredSession {
  readonly id: string
  readonly hash: string
  /** The key it stands for; null where it was opened without one. */
  readonly keyId: string | null
  /** What the browser says it is, to recognize the session by. */
  readonly browser: string
  readonly createdAt: Date
  readonly usedAt: Date
  readonly expiresAt: Date
}

export const createSessionsStore = () => ({
  async insert(db: Executor, session: StoredSession): Promise<void> {
    await db
      .insertInto('sessions')
      .values({
        id: session.id,
        hash: session.hash,
        key_id: session.keyId,
        browser: session.browser,
        created_at: session.createdAt,
        used_at: session.usedAt,
        expires_at: session.expiresAt,
      })
      .execute()
  },

  async findByHash(db: Executor, hash: string): Promise<StoredSession | null> {
    const row = await db.selectFrom('sessions').selectAll().where('hash', '=', hash).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async find(db: Executor, id: string): Promise<StoredSession | null> {
    const row = await db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async extend(db: Executor, id: string, usedAt: Date, expiresAt: Date): Promise<void> {
    await db.updateTable('sessions').set({ used_at: usedAt, expires_at: expiresAt }).where('id', '=', id).execute()
  },

  async deleteByHash(db: Executor, hash: string): Promise<void> {
    await db.deleteFrom('sessions').where('hash', '=', hash).execute()
  },

  /** Newest first; those of an organization's keys where `orgId` names one. */
  async list(db: Executor, orgId: string | null, now: Date, limit: number): Promise<StoredSession[]> {
    let query = db
      .selectFrom('sessions')
      .leftJoin('keys', 'keys.id', 'sessions.key_id')
      .selectAll('sessions')
      .where('sessions.expires_at', '>', now)
      .where('keys.revoked_at', 'is', null)
    if (orgId !== null) query = query.where('keys.org_id', '=', orgId)
    const rows = await query.orderBy('sessions.created_at', 'desc').orderBy('sessions.id').limit(limit).execute()
    return rows.map(fromRow)
  },

  /** Deletes a session that this organization (null: any) may see; its hash, or null where there is none. */
  async delete(db: Executor, id: string, orgId: string | null): Promise<string | null> {
    let query = db.deleteFrom('sessions').where('id', '=', id)
    if (orgId !== null) {
      query = query.where('key_id', 'in', db.selectFrom('keys').select('id').where('org_id', '=', orgId))
    }
    return (await query.returning('hash').executeTakeFirst())?.hash ?? null
  },

  /** Those that are over, and those of keys that are. */
  async deleteEnded(db: Executor, now: Date): Promise<void> {
    await db
      .deleteFrom('sessions')
      .where((where) =>
        where.or([
          where('expires_at', '<=', now),
          where(
            'key_id',
            'in',
            db
              .selectFrom('keys')
              .select('id')
              .where((key) => key.or([key('revoked_at', 'is not', null), key('expires_at', '<=', now)])),
          ),
        ]),
      )
      .execute()
  },
})

const fromRow = (row: Selectable<SessionRow>): StoredSession => ({
  id: row.id,
  hash: row.hash,
  keyId: row.key_id,
  browser: row.browser,
  createdAt: row.created_at,
  usedAt: row.used_at,
  expiresAt: row.expires_at,
})

export type SessionsStore = ReturnType<typeof createSessionsStore>
