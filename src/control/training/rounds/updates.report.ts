import type { Executor } from '../../../platform/db/open.ts'
import { fromRow, type StoredUpdate } from './updates.store.ts'

/** An update with what its aggregation needs to know. */
export interface DeliveredUpdate {
  readonly update: StoredUpdate
  /** The user-chosen id of its device. */
  readonly deviceName: string
  readonly orgId: string | null
  /** The model it was trained from, where that is not its round's. */
  readonly baseSha256: string | null
}

/** Read at a time: an answer with ten thousand rows is held several times over on its way here. */
const PAGE = 1000

/** What participants delivered, by the names of the devices. */
export const createUpdatesReport = () => ({
  /** All of a round, with the user-chosen ids of their devices, in whose order they are added up. */
  async of(db: Executor, roundId: string): Promise<DeliveredUpdate[]> {
    const delivered: DeliveredUpdate[] = []
    for (;;) {
      const last = delivered.at(-1)?.update.id
      const rows = await db
        .selectFrom('updates')
        .innerJoin('devices', 'devices.id', 'updates.device_id')
        .selectAll('updates')
        .leftJoin('rounds as base', 'base.id', 'updates.base_round_id')
        .select(['devices.device_id as device_name', 'devices.org_id as org_id', 'base.global_sha256 as base_sha256'])
        .where('updates.round_id', '=', roundId)
        .$if(last !== undefined, (query) => query.where('updates.id', '>', last!))
        .orderBy('updates.id')
        .limit(PAGE)
        .execute()
      for (const row of rows) {
        const { device_name: deviceName, org_id: orgId, base_sha256: baseSha256 } = row
        delivered.push({ update: fromRow(row), deviceName, orgId, baseSha256 })
      }
      if (rows.length < PAGE) return delivered
    }
  },

  /** A page of a round's, in the order of their devices' user-chosen ids. */
  async page(
    db: Executor,
    roundId: string,
    page: { limit: number; offset: number },
  ): Promise<{ updates: { update: StoredUpdate; deviceName: string }[]; total: number }> {
    const rows = await db
      .selectFrom('updates')
      .innerJoin('devices', 'devices.id', 'updates.device_id')
      .selectAll('updates')
      .select('devices.device_id as device_name')
      .where('round_id', '=', roundId)
      .orderBy('devices.device_id')
      .orderBy('devices.id')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await db
      .selectFrom('updates')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('round_id', '=', roundId)
      .executeTakeFirstOrThrow()
    return { updates: rows.map((row) => ({ update: fromRow(row), deviceName: row.device_name })), total }
  },
})

export type UpdatesReport = ReturnType<typeof createUpdatesReport>
