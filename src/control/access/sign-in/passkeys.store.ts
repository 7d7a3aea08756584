import type { Selectable } from 'kysely'
import type { PasskeyRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface Passkey {
  /** The credential's id, base64url. */
  readonly id: string
  readonly personId: string
  readonly name: string
  /** In COSE format. */
  readonly publicKey: Uint8Array<ArrayBuffer>
  /** The passkey's own use counter; 0 if it does not count. */
  readonly counter: number
  readonly transports: readonly string[]
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

export const passkeysStore = {
  async find(db: Executor, id: string): Promise<Passkey | null> {
    const row = await db.selectFrom('passkeys').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async list(db: Executor, personId: string): Promise<Passkey[]> {
    const query = db.selectFrom('passkeys').selectAll().where('person_id', '=', personId)
    return (await query.orderBy('created_at').orderBy('id').execute()).map(fromRow)
  },

  /** Returns false if it is already registered. */
  async insert(tx: Executor, passkey: Passkey): Promise<boolean> {
    const query = tx
      .insertInto('passkeys')
      .values({
        id: passkey.id,
        person_id: passkey.personId,
        name: passkey.name,
        public_key: Buffer.from(passkey.publicKey),
        counter: passkey.counter,
        transports: [...passkey.transports],
        created_at: passkey.createdAt,
        last_used_at: passkey.lastUsedAt,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  /** Stores the counter; false if it is not above the stored one, as with a copied passkey or a repeated response. */
  async use(tx: Executor, id: string, counter: number, now: Date): Promise<boolean> {
    const query = tx
      .updateTable('passkeys')
      .set({ counter, last_used_at: now })
      .where('id', '=', id)
      .where((where) => where.or([where('counter', '<', counter), where.val(counter === 0)]))
      .where((where) => where.or([where('counter', '=', 0), where.val(counter > 0)]))
    return (await query.returning('id').executeTakeFirst()) !== undefined
  },

  async rename(tx: Executor, id: string, name: string): Promise<void> {
    await tx.updateTable('passkeys').set({ name }).where('id', '=', id).execute()
  },

  /** Returns false if it was deleted meanwhile. */
  async delete(tx: Executor, id: string): Promise<boolean> {
    return (await tx.deleteFrom('passkeys').where('id', '=', id).executeTakeFirst()).numDeletedRows > 0n
  },
}

const fromRow = (row: Selectable<PasskeyRow>): Passkey => ({
  id: row.id,
  personId: row.person_id,
  name: row.name,
  publicKey: new Uint8Array(row.public_key),
  counter: row.counter,
  transports: row.transports,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})
