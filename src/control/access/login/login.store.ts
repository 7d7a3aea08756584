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
    }
  },

  async deleteExpired(db: Executor, now: Date): Promise<void> {
    await db.deleteFrom('login_codes').where('expires_at', '<=', now).execute()
  },
}
