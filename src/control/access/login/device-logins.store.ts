import { type Selectable, sql } from 'kysely'
import type { Grant } from '../../../domain/access.ts'
import type { DeviceLoginRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approval } from '../keys/keys.service.ts'

/** A sign-in of a program that shows a code. */
export interface DeviceLogin extends Approval {
  readonly deviceHash: string
  readonly userHash: string
  /** The program's name, as it gave it. */
  readonly clientName: string
  /** The address that the request came from. */
  readonly address: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly intervalSeconds: number
  /** A poll before this time is too early. */
  readonly nextPollAt: Date
  readonly decision: 'approved' | 'denied' | null
}

export const deviceLoginsStore = {
  async insert(db: Executor, login: DeviceLogin): Promise<void> {
    await db.insertInto('device_logins').values(toRow(login)).execute()
  },

  /** How many sign-ins wait, and how many of them came from an address. */
  async count(db: Executor, address: string): Promise<{ all: number; ofAddress: number }> {
    const { rows } = await sql<{ all: number; of_address: number }>`
      select count(*)::int as all, (count(*) filter (where address = ${address}))::int as of_address from device_logins`.execute(
      db,
    )
    return { all: rows[0]!.all, ofAddress: rows[0]!.of_address }
  },

  async findByUserCode(db: Executor, userHash: string, now: Date): Promise<DeviceLogin | null> {
    const row = await db
      .selectFrom('device_logins')
      .selectAll()
      .where('user_hash', '=', userHash)
      .where('decision', 'is', null)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Only one of several concurrent decisions succeeds; null for the others. */
  async decide(
    tx: Executor,
    userHash: string,
    decision: 'approved' | 'denied',
    approval: Approval,
    now: Date,
  ): Promise<DeviceLogin | null> {
    const row = await tx
      .updateTable('device_logins')
      .set({
        decision,
        grants: [...approval.grants],
        org_id: approval.orgId,
        approved_by: approval.approvedBy,
        person_id: approval.personId,
        session_id: approval.sessionId,
      })
      .where('user_hash', '=', userHash)
      .where('decision', 'is', null)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Returns the sign-in of this device code, and locks it until the transaction ends. */
  async lock(tx: Executor, deviceHash: string): Promise<DeviceLogin | null> {
    const query = tx.selectFrom('device_logins').selectAll().where('device_hash', '=', deviceHash).forUpdate()
    const row = await query.executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async setPolled(tx: Executor, deviceHash: string, intervalSeconds: number, nextPollAt: Date): Promise<void> {
    await tx
      .updateTable('device_logins')
      .set({ interval_seconds: intervalSeconds, next_poll_at: nextPollAt })
      .where('device_hash', '=', deviceHash)
      .execute()
  },

  async delete(tx: Executor, deviceHash: string): Promise<void> {
    await tx.deleteFrom('device_logins').where('device_hash', '=', deviceHash).execute()
  },

  /** Deletes the sign-ins that this session approved. */
  async deleteOf(tx: Executor, sessionId: string): Promise<void> {
    await tx.deleteFrom('device_logins').where('session_id', '=', sessionId).execute()
  },

  async deleteExpired(db: Executor, now: Date): Promise<void> {
    await db.deleteFrom('device_logins').where('expires_at', '<=', now).execute()
  },
}

const toRow = (login: DeviceLogin) => ({
  device_hash: login.deviceHash,
  user_hash: login.userHash,
  client_name: login.clientName,
  address: login.address,
  created_at: login.createdAt,
  expires_at: login.expiresAt,
  interval_seconds: login.intervalSeconds,
  next_poll_at: login.nextPollAt,
  decision: login.decision,
  grants: [...login.grants],
  org_id: login.orgId,
  approved_by: login.approvedBy,
  person_id: login.personId,
  session_id: login.sessionId,
})

const fromRow = (row: Selectable<DeviceLoginRow>): DeviceLogin => ({
  deviceHash: row.device_hash,
  userHash: row.user_hash,
  clientName: row.client_name,
  address: row.address,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  intervalSeconds: row.interval_seconds,
  nextPollAt: row.next_poll_at,
  decision: row.decision as DeviceLogin['decision'],
  grants: row.grants as Grant[],
  orgId: row.org_id,
  approvedBy: row.approved_by,
  personId: row.person_id,
  sessionId: row.session_id,
})
