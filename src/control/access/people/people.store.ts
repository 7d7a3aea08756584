import { type Selectable, sql } from 'kysely'
import { isSameAddress } from '../../../domain/email-address.ts'
import type { Role } from '../../../domain/roles.ts'
import type { InvitationRow, PersonRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** An account: one person in one organization. */
export interface Person {
  readonly id: string
  readonly orgId: string
  /** Null after it was erased. */
  readonly email: string | null
  readonly name: string | null
  readonly role: Role
  readonly passwordHash: string | null
  /** Whether a second factor (TOTP) or a passkey is set up. */
  readonly mfa: boolean
  readonly createdAt: Date
  readonly signedInAt: Date | null
}

export interface Invitation {
  readonly id: string
  readonly orgId: string
  readonly email: string
  readonly role: Role
  /** SHA-256 of its token, in hex. */
  readonly hash: string
  /** The id of the person or key that created it. */
  readonly invitedBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const hasPasskey = sql<boolean>`exists (select from passkeys where passkeys.person_id = people.id)`

const people = (db: Executor) =>
  db.selectFrom('people').selectAll().select(hasPasskey.as('has_passkey')).where('removed_at', 'is', null)
const open = (db: Executor) => db.selectFrom('invitations').selectAll().where('accepted_at', 'is', null)

/** Accounts that were not removed, and invitations that were not accepted. */
export const peopleStore = {
  async find(db: Executor, id: string): Promise<Person | null> {
    const row = await people(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : personFrom(row)
  },

  async list(db: Executor, orgId: string): Promise<Person[]> {
    return (await people(db).where('org_id', '=', orgId).orderBy('created_at').orderBy('id').execute()).map(personFrom)
  },

  async findByEmail(db: Executor, orgId: string, email: string): Promise<Person | null> {
    const row = await people(db)
      .where('org_id', '=', orgId)
      .where(sql`lower(email)`, '=', sql`lower(${email}::text)`)
      .executeTakeFirst()
    return row === undefined ? null : personFrom(row)
  },

  countAdmins: async (db: Executor, orgId: string): Promise<number> =>
    (await people(db).where('org_id', '=', orgId).where('role', '=', 'admin').execute()).length,

  /** Returns the ids of the organization's admins, and locks them until this transaction ends, like `accountsStore.lock`. */
  async lockAdmins(tx: Executor, orgId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from people where org_id = ${orgId} and role = 'admin' and removed_at is null
      order by id for no key update`.execute(tx)
    return rows.map(({ id }) => id)
  },

  async insert(tx: Executor, person: Omit<Person, 'mfa' | 'signedInAt'>): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('people')
      .values({
        id: person.id,
        org_id: person.orgId,
        email: person.email,
        name: person.name,
        role: person.role,
        password_hash: person.passwordHash,
        created_at: person.createdAt,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  },

  /** Returns false if the person was removed meanwhile. */
  async setRole(tx: Executor, id: string, role: Role): Promise<boolean> {
    const member = tx.updateTable('people').set({ role }).where('id', '=', id).where('removed_at', 'is', null)
    return (await member.executeTakeFirst()).numUpdatedRows > 0n
  },

  /**
   * Keeps the id, for the person's past actions; removes their sessions and everything that they sign in with. Returns false if
   * they were removed meanwhile.
   */
  async remove(tx: Executor, id: string, now: Date): Promise<boolean> {
    const member = tx
      .updateTable('people')
      .set({ removed_at: now, password_hash: null, totp_secret: null, totp_confirmed_at: null, oidc_identity: null })
      .where('id', '=', id)
      .where('removed_at', 'is', null)
    if ((await member.executeTakeFirst()).numUpdatedRows === 0n) return false
    await tx.deleteFrom('sessions').where('person_id', '=', id).execute()
    await tx.deleteFrom('recovery_codes').where('person_id', '=', id).execute()
    await tx.deleteFrom('passkeys').where('person_id', '=', id).execute()
    return true
  },

  /**
   * Erases a removed person's email address and name, and their invitations, accepted or expired, but not one that is still
   * open. Returns the address; null if there was none.
   */
  async eraseRemoved(tx: Executor, orgId: string, id: string, now: Date): Promise<string | null> {
    const { rows } = await sql<{ email: string }>`
      with erased as (
        select id, email from people where id = ${id} and org_id = ${orgId} and removed_at is not null and email is not null
      ), invited as (
        delete from invitations where org_id = ${orgId} and (accepted_at is not null or expires_at <= ${now})
          and lower(email) in (select lower(email) from erased)
      ), changed as (
        update people set email = null, name = null where id in (select id from erased)
      )
      select email from erased`.execute(tx)
    return rows[0]?.email ?? null
  },

  /** Replaces an open invitation to the same address, even one that is created concurrently. */
  async invite(
    tx: Executor,
    { id, orgId, email, role, hash, invitedBy, createdAt, expiresAt }: Invitation,
  ): Promise<void> {
    await sql`
      insert into invitations (id, org_id, email, role, hash, invited_by, created_at, expires_at)
      values (${id}, ${orgId}, ${email}, ${role}, ${hash}, ${invitedBy}, ${createdAt}, ${expiresAt})
      on conflict (org_id, lower(email)) where accepted_at is null do update set id = excluded.id,
        email = excluded.email, role = excluded.role, hash = excluded.hash, invited_by = excluded.invited_by,
        created_at = excluded.created_at, expires_at = excluded.expires_at`.execute(tx)
  },

  async openInvitations(db: Executor, orgId: string): Promise<Invitation[]> {
    return (await open(db).where('org_id', '=', orgId).orderBy('created_at').orderBy('id').execute()).map(
      invitationFrom,
    )
  },

  async openInvitationsTo(db: Executor, email: string, orgId: string | null, now: Date): Promise<Invitation[]> {
    let query = open(db).where(sql`lower(email)`, '=', sql`lower(${email}::text)`).where('expires_at', '>', now)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.execute()).filter((row) => isSameAddress(row.email, email)).map(invitationFrom)
  },

  async openInvitation(db: Executor, id: string): Promise<Invitation | null> {
    const row = await open(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : invitationFrom(row)
  },

  async findInvitation(db: Executor, hash: string, now: Date): Promise<Invitation | null> {
    const row = await open(db).where('hash', '=', hash).where('expires_at', '>', now).executeTakeFirst()
    return row === undefined ? null : invitationFrom(row)
  },

  /** Only one of several concurrent attempts succeeds. */
  async accept(tx: Executor, hash: string, now: Date): Promise<Invitation | null> {
    const row = await tx
      .updateTable('invitations')
      .set({ accepted_at: now })
      .where('hash', '=', hash)
      .where('accepted_at', 'is', null)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : invitationFrom(row)
  },

  /** Returns false if it was accepted or revoked meanwhile. */
  async setInvitedRole(tx: Executor, id: string, role: Role): Promise<boolean> {
    const open = tx.updateTable('invitations').set({ role }).where('id', '=', id).where('accepted_at', 'is', null)
    return (await open.executeTakeFirst()).numUpdatedRows > 0n
  },

  /** Returns false if it was accepted or revoked meanwhile. */
  async revokeInvitation(tx: Executor, id: string): Promise<boolean> {
    const open = tx.deleteFrom('invitations').where('id', '=', id).where('accepted_at', 'is', null)
    return (await open.executeTakeFirst()).numDeletedRows > 0n
  },

  /** Deletes invitations that expired before `before`. */
  async deleteEnded(db: Executor, before: Date): Promise<void> {
    await db.deleteFrom('invitations').where('expires_at', '<', before).execute()
  },
}

const personFrom = (row: Selectable<PersonRow> & { readonly has_passkey: boolean }): Person => ({
  id: row.id,
  orgId: row.org_id,
  email: row.email,
  name: row.name,
  role: row.role as Role,
  passwordHash: row.password_hash,
  mfa: row.totp_confirmed_at !== null || row.has_passkey,
  createdAt: row.created_at,
  signedInAt: row.signed_in_at,
})

const invitationFrom = (row: Selectable<InvitationRow>): Invitation => ({
  id: row.id,
  orgId: row.org_id,
  email: row.email,
  role: row.role as Role,
  hash: row.hash,
  invitedBy: row.invited_by,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})
