import { sql } from 'kysely'
import type { Grant } from '../../../domain/access.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approval } from '../keys/keys.service.ts'

export interface LoginCode extends Approval {
  readonly hash: string
  readonly challenge: string
  readonly redirectUri: string
  readonly expiresAt: Date
}

export const loginStore = {
  async insert(db: Executor, code: LoginCode): Promise<void> {
    await db
      .insertInto('login_codes')
      .values({
        hash: code.hash,
        challenge: code.challenge,
        redirect_uri: code.redirectUri,
        grants: [...code.grants],
        org_id: code.orgId,
        expires_at: code.expiresAt,
        approved_by: code.approvedBy,
        person_id: code.personId,
        session_id: code.sessionId,
      })
      .execute()
  },

  /** Removes the code, so that it works only once. */
  async take(db: Executor, hash: string): Promise<LoginCode | null> {
    const row = await db.deleteFrom('login_codes').where('hash', '=', hash).returningAll().executeTakeFirst()
    if (row === undefined) return null
    return {
      hash: row.hash,
      challenge: row.challenge,
      redirectUri: row.redirect_uri,
      grants: row.grants as Grant[],
      orgId: row.org_id,
      expiresAt: row.expires_at,
      approvedBy: row.approved_by,
      personId: row.person_id,
      sessionId: row.session_id,
    }
  },

  /** Deletes the codes that this session approved. */
  async deleteOf(tx: Executor, sessionId: string): Promise<void> {
    await tx.deleteFrom('login_codes').where('session_id', '=', sessionId).execute()
  },

  /**
   * Locks the session with this token until the transaction ends, so that whoever ends it finds what it approved; false if it or
   * its token has ended. A lock that approvals share would let many of them keep the session from being ended.
   */
  async lockSession(tx: Executor, hash: string): Promise<boolean> {
    const { rows } = await sql`select from sessions where hash = ${hash} for update`.execute(tx)
    return rows.length > 0
  },

  async deleteExpired(db: Executor, now: Date): Promise<void> {
    await db.deleteFrom('login_codes').where('expires_at', '<=', now).execute()
  },
}
