import { type Selectable, sql } from 'kysely'
import type { Role } from '../../../domain/roles.ts'
import type { SessionRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** A browser's session as stored: only the SHA-256 of its token, never the token itself. */
export interface StoredSession {
  readonly id: string
  readonly hash: string
  /** The key it stands for; null if it was opened without one. */
  readonly keyId: string | null
  /** The browser's description of itself, for recognizing the session. */
  readonly browser: string
  readonly createdAt: Date
  readonly usedAt: Date
  readonly expiresAt: Date
  /** For a person's session: when they last proved their identity, and whether with two factors. */
  readonly authenticatedAt: Date | null
  readonly mfa: boolean
  readonly personId: string | null
}

/** The person of the session, and the requirements of their organization. */
export interface SessionPerson {
  readonly id: string
  readonly orgId: string
  readonly email: string | null
  readonly name: string | null
  readonly role: Role
  readonly requireMfa: 'off' | 'admins' | 'all'
  readonly sessionHours: number
  readonly reauthenticateMinutes: number | null
}

/** With its person; null if it has none, or they were removed. */
export interface PersonalSession extends StoredSession {
  readonly person: SessionPerson | null
}

/** For organizations that have set none. */
const DEFAULT_HOURS = 24

const selectFrom = (db: Executor) =>
  db
    .selectFrom('sessions')
    .leftJoin('people', (join) => join.onRef('people.id', '=', 'sessions.person_id').on('removed_at', 'is', null))
    .leftJoin('org_settings', 'org_settings.org_id', 'people.org_id')
    .selectAll('sessions')
    .select(({ fn, val }) => [
      'people.org_id',
      'people.email',
      'people.name',
      'people.role',
      fn.coalesce('require_mfa', sql.lit('off')).as('require_mfa'),
      fn.coalesce('session_hours', val(DEFAULT_HOURS)).as('session_hours'),
      'reauthenticate_minutes',
    ])

export const sessionsStore = {
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
        person_id: session.personId,
        authenticated_at: session.authenticatedAt,
        mfa: session.mfa,
      })
      .execute()
  },

  async findByHash(db: Executor, hash: string): Promise<PersonalSession | null> {
    const row = await selectFrom(db).where('hash', '=', hash).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async find(db: Executor, id: string): Promise<PersonalSession | null> {
    const row = await selectFrom(db).where('sessions.id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async findByIds(db: Executor, ids: readonly string[]): Promise<PersonalSession[]> {
    const rows = await selectFrom(db).where(sql<boolean>`sessions.id = any(${ids}::uuid[])`).execute()
    return rows.map(fromRow)
  },

  async extend(db: Executor, id: string, usedAt: Date, expiresAt: Date): Promise<void> {
    await db.updateTable('sessions').set({ used_at: usedAt, expires_at: expiresAt }).where('id', '=', id).execute()
  },

  /** Returns false if there was none. The sign-ins that a session approved are deleted with it. */
  async deleteByHash(db: Executor, hash: string): Promise<boolean> {
    return (await db.deleteFrom('sessions').where('hash', '=', hash).executeTakeFirst()).numDeletedRows > 0n
  },

  /** Replaces the session's token after the person has confirmed their identity; false if it was replaced or ended meanwhile. */
  async renew(db: Executor, former: string, renewed: { hash: string; mfa: boolean; at: Date }): Promise<boolean> {
    const { hash, mfa, at } = renewed
    const query = db
      .updateTable('sessions')
      .set({ hash, authenticated_at: at, used_at: at, ...(mfa && { mfa }) })
      .where('hash', '=', former)
    return (await query.executeTakeFirst()).numUpdatedRows > 0n
  },

  /** Ends the sessions of a person except the one to keep. */
  async endOf(db: Executor, personId: string, keptId: string | null): Promise<void> {
    let query = db.deleteFrom('sessions').where('person_id', '=', personId)
    if (keptId !== null) query = query.where('id', '!=', keptId)
    await query.execute()
  },

  /** Newest first: the sessions of an organization's keys and people (null for all), or of one person. */
  async list(
    db: Executor,
    of: { readonly orgId: string | null; readonly personId?: string },
    now: Date,
    limit: number,
  ): Promise<PersonalSession[]> {
    let query = selectFrom(db)
      .leftJoin('keys', 'keys.id', 'sessions.key_id')
      .where('sessions.expires_at', '>', now)
      .where('keys.revoked_at', 'is', null)
      .where((where) => where.or([where('keys.expires_at', 'is', null), where('keys.expires_at', '>', now)]))
      .where((where) => where.or([where('sessions.person_id', 'is', null), where('people.id', 'is not', null)]))
    const { orgId, personId } = of
    if (orgId !== null) {
      query = query.where((where) => where.or([where('keys.org_id', '=', orgId), where('people.org_id', '=', orgId)]))
    }
    if (personId !== undefined) query = query.where('sessions.person_id', '=', personId)
    const rows = await query.orderBy('sessions.created_at', 'desc').orderBy('sessions.id').limit(limit).execute()
    return rows.map(fromRow)
  },

  /** Deletes a session that this organization (null for any) may see; null if there is none. */
  async delete(
    db: Executor,
    id: string,
    orgId: string | null,
  ): Promise<{ readonly personId: string | null; readonly orgId: string | null } | null> {
    let query = db.deleteFrom('sessions').where('id', '=', id)
    if (orgId !== null) {
      query = query.where((where) =>
        where.or([
          where('key_id', 'in', db.selectFrom('keys').select('id').where('org_id', '=', orgId)),
          where('person_id', 'in', db.selectFrom('people').select('id').where('org_id', '=', orgId)),
        ]),
      )
    }
    const row = await query
      .returning([
        'person_id',
        sql<string | null>`coalesce(
          (select org_id from keys where keys.id = key_id), (select org_id from people where people.id = person_id))`.as(
          'org_id',
        ),
      ])
      .executeTakeFirst()
    return row === undefined ? null : { personId: row.person_id, orgId: row.org_id }
  },

  /** Deletes a session of this person; true if there was one. */
  async deleteOwn(db: Executor, id: string, personId: string): Promise<boolean> {
    const query = db.deleteFrom('sessions').where('id', '=', id).where('person_id', '=', personId)
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  /** Deletes the sessions that have ended, and those of keys that have. */
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
}

type JoinedRow = Selectable<SessionRow> & {
  readonly org_id: string | null
  readonly email: string | null
  readonly name: string | null
  readonly role: string | null
  readonly require_mfa: string
  readonly session_hours: number
  readonly reauthenticate_minutes: number | null
}

const fromRow = (row: JoinedRow): PersonalSession => ({
  id: row.id,
  hash: row.hash,
  keyId: row.key_id,
  browser: row.browser,
  createdAt: row.created_at,
  usedAt: row.used_at,
  expiresAt: row.expires_at,
  authenticatedAt: row.authenticated_at,
  mfa: row.mfa,
  personId: row.person_id,
  person:
    row.person_id === null || row.org_id === null
      ? null
      : {
          id: row.person_id,
          orgId: row.org_id,
          email: row.email,
          name: row.name,
          role: row.role as Role,
          requireMfa: row.require_mfa as SessionPerson['requireMfa'],
          sessionHours: row.session_hours,
          reauthenticateMinutes: row.reauthenticate_minutes,
        },
})
