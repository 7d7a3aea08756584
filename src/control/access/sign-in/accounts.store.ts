import { type Selectable, sql } from 'kysely'
import { isSameAddress } from '../../../domain/email-address.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Role } from '../../../domain/roles.ts'
import type { PersonRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

/** How a person signs in. */
export interface Account {
  readonly id: string
  readonly orgId: string
  readonly email: string
  readonly name: string | null
  readonly role: Role
  readonly passwordHash: string | null
  /** The person's identity at the identity provider; null if they are not linked. */
  readonly oidcIdentity: string | null
  /** Encrypted by `secrets.seal`. */
  readonly totpSecret: string | null
  /** Whether the secret counts, because the person has shown a code of it. */
  readonly totp: boolean
  /** The time step of the last code that was accepted. */
  readonly totpStep: number | null
  readonly passkeys: number
  readonly recoveryCodesLeft: number
}

const COUNTS = [
  sql<number>`(select count(*)::integer from passkeys where passkeys.person_id = people.id)`.as('passkeys'),
  sql<number>`(select count(*)::integer from recovery_codes
    where recovery_codes.person_id = people.id and recovery_codes.used_at is null)`.as('recovery_codes_left'),
] as const

const selectFrom = (db: Executor) =>
  db
    .selectFrom('people')
    .selectAll()
    .select([...COUNTS])
    .where('removed_at', 'is', null)

export const accountsStore = {
  async find(db: Executor, id: string): Promise<Account | null> {
    const row = await selectFrom(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Like `find`, but locks the account until the transaction ends. Rows that refer to it, such as keys, can still be added. */
  async lock(tx: Executor, id: string): Promise<Account | null> {
    await sql`select from people where id = ${id} for no key update`.execute(tx)
    return this.find(tx, id)
  },

  /**
   * Returns up to two accounts with this email address: in one organization or, with null, in all. The oldest, so that later
   * invitations by other organizations never hide an account.
   */
  async allByEmail(db: Executor, email: string, orgId: string | null): Promise<Account[]> {
    let query = selectFrom(db).where(sql`lower(email)`, '=', sql`lower(${email}::text)`)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    const rows = await query.orderBy('created_at').orderBy('id').execute()
    return rows
      .filter((row) => isSameAddress(row.email, email))
      .slice(0, 2)
      .map(fromRow)
  },

  /** Returns accounts with this identity at the provider, like `allByEmail`. */
  async allByIdentity(db: Executor, identity: string, orgId: string | null): Promise<Account[]> {
    let query = selectFrom(db).where('oidc_identity', '=', identity)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.limit(2).execute()).map(fromRow)
  },

  /**
   * Links the account to an identity at the provider; false if it is linked to another one.
   * @throws conflict if another account of the organization has just been linked to the identity
   */
  async linkIdentity(tx: Executor, id: string, identity: string): Promise<boolean> {
    const query = tx
      .updateTable('people')
      .set({ oidc_identity: identity })
      .where('id', '=', id)
      .where((where) => where.or([where('oidc_identity', 'is', null), where('oidc_identity', '=', identity)]))
    try {
      return (await query.returning('id').executeTakeFirst()) !== undefined
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw conflict(
        'Another account of this organization was linked to your identity at the provider at the same moment. Sign in again.',
      )
    }
  },

  async setSignedIn(tx: Executor, id: string, now: Date): Promise<void> {
    await tx.updateTable('people').set({ signed_in_at: now }).where('id', '=', id).execute()
  },

  /** Returns false if the password no longer has the hash `from`. */
  async setPassword(tx: Executor, id: string, { from, to }: { from: string | null; to: string }): Promise<boolean> {
    const query = tx.updateTable('people').set({ password_hash: to }).where('id', '=', id)
    return (await query.where('password_hash', 'is not distinct from', from).executeTakeFirst()).numUpdatedRows > 0n
  },

  /** Stores the secret of an authenticator app whose code of the time step `step` was shown; it replaces an earlier app's. */
  async setTotp(
    tx: Executor,
    id: string,
    { sealed, step, now }: { readonly sealed: string; readonly step: number; readonly now: Date },
  ): Promise<void> {
    const totp = { totp_secret: sealed, totp_step: step, totp_confirmed_at: now }
    await tx.updateTable('people').set(totp).where('id', '=', id).execute()
  },

  /** Accepts the code of this time step; false if it or a later one was accepted before. */
  async takeTotpStep(tx: Executor, id: string, step: number): Promise<boolean> {
    const query = tx
      .updateTable('people')
      .set({ totp_step: step })
      .where('id', '=', id)
      .where((where) => where.or([where('totp_step', 'is', null), where('totp_step', '<', step)]))
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  async removeTotp(tx: Executor, id: string): Promise<void> {
    await tx
      .updateTable('people')
      .set({ totp_secret: null, totp_confirmed_at: null, totp_step: null })
      .where('id', '=', id)
      .execute()
  },

  /** Replaces the recovery codes that the person had. */
  async setRecoveryCodes(tx: Executor, id: string, hashes: readonly string[]): Promise<void> {
    await tx.deleteFrom('recovery_codes').where('person_id', '=', id).execute()
    if (hashes.length === 0) return
    await tx
      .insertInto('recovery_codes')
      .values(hashes.map((hash) => ({ person_id: id, hash })))
      .execute()
  },

  /** Uses up a recovery code; false if it is unknown or was used before. */
  async takeRecoveryCode(tx: Executor, id: string, hash: string, now: Date): Promise<boolean> {
    const query = tx
      .updateTable('recovery_codes')
      .set({ used_at: now })
      .where('person_id', '=', id)
      .where('hash', '=', hash)
      .where('used_at', 'is', null)
    return (await query.returning('hash').executeTakeFirst()) !== undefined
  },

  /** Removes all factors other than the password, and the link to the identity provider. */
  async removeFactors(tx: Executor, id: string): Promise<void> {
    await tx.updateTable('people').set({ oidc_identity: null }).where('id', '=', id).execute()
    await this.removeTotp(tx, id)
    await this.setRecoveryCodes(tx, id, [])
    await tx.deleteFrom('passkeys').where('person_id', '=', id).execute()
  },
}

const fromRow = (
  row: Selectable<PersonRow> & { readonly passkeys: number; readonly recovery_codes_left: number },
): Account => ({
  id: row.id,
  orgId: row.org_id,
  email: row.email ?? '',
  name: row.name,
  role: row.role as Role,
  passwordHash: row.password_hash,
  oidcIdentity: row.oidc_identity,
  totpSecret: row.totp_secret,
  totp: row.totp_confirmed_at !== null,
  totpStep: row.totp_step,
  passkeys: row.passkeys,
  recoveryCodesLeft: row.recovery_codes_left,
})
