import { type Selectable, sql } from 'kysely'
import type { Role } from '../../../domain/roles.ts'
import type { PersonRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** What a person signs in with. */
export interface Account {
  readonly id: string
  readonly orgId: string
  readonly email: string
  readonly name: string | null
  readonly role: Role
  readonly passwordHash: string | null
  /** Who they are to the identity provider; null where they are not linked. */
  readonly oidcIdentity: string | null
  /** Sealed. */
  readonly totpSecret: string | null
  /** Whether it counts: they have shown a code of it. */
  readonly totp: boolean
  /** Time step of the last code that was accepted. */
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

export const createAccountsStore = () => ({
  async find(db: Executor, id: string): Promise<Account | null> {
    const row = await selectFrom(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** As `find`, and locked until the transaction ends. */
  async lock(tx: Executor, id: string): Promise<Account | null> {
    await sql`select from people where id = ${id} for update`.execute(tx)
    return this.find(tx, id)
  },

  /** Those of this address of mail, up to two: in the organization where one is named, else in all. */
  async allByEmail(db: Executor, email: string, orgId: string | null): Promise<Account[]> {
    let query = selectFrom(db).where(sql`lower(email)`, '=', sql`lower(${email}::text)`)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.limit(2).execute()).map(fromRow)
  },

  /** Accounts of a person that the identity provider knows, as `allByEmail`. */
  async allByIdentity(db: Executor, identity: string, orgId: string | null): Promise<Account[]> {
    let query = selectFrom(db).where('oidc_identity', '=', identity)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.limit(2).execute()).map(fromRow)
  },

  /** Links the account to an identity at the provider; false if it is linked to one already. */
  async linkIdentity(tx: Executor, id: string, identity: string): Promise<boolean> {
    const query = tx
      .updateTable('people')
      .set({ oidc_identity: identity })
      .where('id', '=', id)
      .where('oidc_identity', 'is', null)
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  async setSignedIn(tx: Executor, id: string, now: Date): Promise<void> {
    await tx.updateTable('people').set({ signed_in_at: now }).where('id', '=', id).execute()
  },

  /** False where the password is no longer the one of this hash. */
  async setPassword(tx: Executor, id: string, { from, to }: { from: string | null; to: string }): Promise<boolean> {
    const query = tx.updateTable('people').set({ password_hash: to }).where('id', '=', id)
    return (await query.where('password_hash', 'is not distinct from', from).executeTakeFirst()).numUpdatedRows > 0n
  },

  /** Their authenticator app to be; false where they have one that counts. */
  async setTotpSecret(tx: Executor, id: string, sealed: string): Promise<boolean> {
    const query = tx
      .updateTable('people')
      .set({ totp_secret: sealed, totp_step: null })
      .where('id', '=', id)
      .where('totp_confirmed_at', 'is', null)
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  async confirmTotp(tx: Executor, id: string, now: Date): Promise<void> {
    await tx.updateTable('people').set({ totp_confirmed_at: now }).where('id', '=', id).execute()
  },

  /** Takes the code of this time step; false where it, or a later one, was taken before. */
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

  /** In place of those that they had. */
  async setRecoveryCodes(tx: Executor, id: string, hashes: readonly string[]): Promise<void> {
    await tx.deleteFrom('recovery_codes').where('person_id', '=', id).execute()
    if (hashes.length === 0) return
    await tx
      .insertInto('recovery_codes')
      .values(hashes.map((hash) => ({ person_id: id, hash })))
      .execute()
  },

  /** Takes a recovery code; false where they have no such, or it was taken before. */
  async takeRecoveryCode(tx: Executor, id: string, hash: string, now: Date): Promise<boolean> {
    const query = tx
      .updateTable('recovery_codes')
      .set({ used_at: now })
      .where('person_id', '=', id)
      .where('hash', '=', hash)
      .where('used_at', 'is', null)
    return (await query.returning('hash').executeTakeFirst()) !== undefined
  },

  /** Removes all factors other than the password, and the identity at the provider. */
  async removeFactors(tx: Executor, id: string): Promise<void> {
    await tx.updateTable('people').set({ oidc_identity: null }).where('id', '=', id).execute()
    await this.removeTotp(tx, id)
    await this.setRecoveryCodes(tx, id, [])
    await tx.deleteFrom('passkeys').where('person_id', '=', id).execute()
  },
})

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

export type AccountsStore = ReturnType<typeof createAccountsStore>
