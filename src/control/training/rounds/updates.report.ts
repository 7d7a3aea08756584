import type { Executor } from '../../../platform/db/open.ts'
import { fromRow, type StoredUpdate } from './updates.store.ts'

/** An update with the data that its aggregation needs. */
export interface DeliveredUpdate {
  readonly update: StoredUpdate
  /** The user-chosen id of its device. */
  readonly deviceName: string
  readonly orgId: string | null
  /** The model that it was trained from, if it is not its round's. */
  readonly baseSha256: string | null
  /** Distinguishes the round's devices, and determines their order. */
  readonly key: string
}

/** Rows per query: a result with ten thousand rows would be held in memory several times. */
const PAGE = 1000

/** What a round's devices delivered, with their user-chosen ids. */
export const updatesReport = {
  /** All updates of a round. */
  async delivered(db: Executor, roundId: string): Promise<DeliveredUpdate[]> {
    const delivered: Omit<DeliveredUpdate, 'key'>[] = []
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
      if (rows.length < PAGE) return withKeys(delivered)
    }
  },

  /** A page of the round's updates, sorted by user-chosen device id. */
  async page(
    db: Executor,
    roundId: string,
    page: { limit: number; offset: number },
  ): Promise<{ updates: Pick<DeliveredUpdate, 'update' | 'deviceName' | 'orgId'>[]; total: number }> {
    const rows = await db
      .selectFrom('updates')
      .innerJoin('devices', 'devices.id', 'updates.device_id')
      .selectAll('updates')
      .select(['devices.device_id as device_name', 'devices.org_id as org_id'])
      .where('round_id', '=', roundId)
      .orderBy('devices.device_id')
      .orderBy('devices.id')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const updates = rows.map((row) => ({ update: fromRow(row), deviceName: row.device_name, orgId: row.org_id }))
    const { total } = await db
      .selectFrom('updates')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('round_id', '=', roundId)
      .executeTakeFirstOrThrow()
    return { updates, total }
  },
}

/** Keys of devices with duplicate names end like this. Names that end like this get a suffix too, so keys are unique. */
const KEY_SUFFIX = /\([0-9a-f-]{36}\)$/

/**
 * The key is the user-chosen id, unless it is not unique in the round: in a federation's round, devices of several
 * organizations may have the same id, and then get their internal id as a suffix. Other receipts thus keep the bytes that they
 * always had.
 */
const withKeys = (delivered: readonly Omit<DeliveredUpdate, 'key'>[]): DeliveredUpdate[] => {
  const named = new Map<string, number>()
  for (const { deviceName } of delivered) named.set(deviceName, (named.get(deviceName) ?? 0) + 1)
  return delivered.map((one) => {
    const { deviceName, update } = one
    const isClear = named.get(deviceName) === 1 && !KEY_SUFFIX.test(deviceName)
    return { ...one, key: isClear ? deviceName : `${deviceName} (${update.deviceId})` }
  })
}
