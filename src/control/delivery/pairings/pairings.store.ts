import type { Selectable } from 'kysely'
import type { Platform } from '../../../domain/device.ts'
import type { PairingRow } from '../../../platform/db/delivery-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface StoredPairing {
  readonly id: string
  /** The code itself is not stored. */
  readonly codeHash: string
  readonly orgId: string | null
  /**
   * The state of the deployment and the expiry of the code are computed, not stored. `claiming`: a device has the code and
   * is being admitted; only the request that admits it continues.
   */
  readonly status: 'waiting' | 'claiming' | 'paired' | 'failed'
  readonly modelName: string | null
  readonly modelVersion: string | null
  readonly deviceId: string | null
  /** The platform that the device must have, or has. */
  readonly platform: Platform | null
  readonly reason: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

export const pairingsStore = {
  async insert(db: Executor, pairing: StoredPairing): Promise<void> {
    await db
      .insertInto('pairings')
      .values({
        id: pairing.id,
        code_hash: pairing.codeHash,
        org_id: pairing.orgId,
        status: pairing.status,
        model_name: pairing.modelName,
        model_version: pairing.modelVersion,
        device_id: pairing.deviceId,
        platform: pairing.platform,
        reason: pairing.reason,
        created_at: pairing.createdAt,
        expires_at: pairing.expiresAt,
      })
      .execute()
  },

  async find(db: Executor, id: string): Promise<StoredPairing | null> {
    const row = await db.selectFrom('pairings').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async findByCode(db: Executor, codeHash: string): Promise<StoredPairing | null> {
    const row = await db.selectFrom('pairings').selectAll().where('code_hash', '=', codeHash).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Gives the code to this device. Returns null if another was faster or the code has expired. */
  async claim(
    db: Executor,
    id: string,
    device: { readonly deviceId: string; readonly platform: Platform },
    now: Date,
  ): Promise<StoredPairing | null> {
    const row = await db
      .updateTable('pairings')
      .set({ status: 'claiming', device_id: device.deviceId, platform: device.platform })
      .where('id', '=', id)
      .where('status', '=', 'waiting')
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Makes a code usable again if its device was not admitted. */
  async release(db: Executor, before: StoredPairing): Promise<void> {
    await db
      .updateTable('pairings')
      .set({ status: 'waiting', device_id: null, platform: before.platform, reason: null })
      .where('id', '=', before.id)
      .where('status', 'in', ['claiming', 'failed'])
      .execute()
  },

  /** Stores the result of a claim: a reason why it failed, or null if the device is paired, even if it was marked as failed. */
  async settle(
    db: Executor,
    { id, deviceId }: Pick<StoredPairing, 'id' | 'deviceId'>,
    reason: string | null,
  ): Promise<StoredPairing | null> {
    const row = await db
      .updateTable('pairings')
      .set({ status: reason === null ? 'paired' : 'failed', reason })
      .where('id', '=', id)
      .where('device_id', '=', deviceId)
      .where('status', 'in', reason === null ? ['claiming', 'paired', 'failed'] : ['claiming', 'paired'])
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async deleteOlder(db: Executor, than: Date): Promise<void> {
    await db.deleteFrom('pairings').where('expires_at', '<=', than).execute()
  },
}

const fromRow = (row: Selectable<PairingRow>): StoredPairing => ({
  id: row.id,
  codeHash: row.code_hash,
  orgId: row.org_id,
  status: row.status as StoredPairing['status'],
  modelName: row.model_name,
  modelVersion: row.model_version,
  deviceId: row.device_id,
  platform: row.platform as Platform | null,
  reason: row.reason,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})
