import type { Executor } from '../../../platform/db/open.ts'
import { fromRow, type StoredUpdate } from './updates.store.ts'

/** An update with what its aggregation needs to know. */
export interface DeliveredUpdate {
  readonly update: StoredUpdate
  /** The user-chosen id of its device. */
  readonly deviceName: string
  readonly orgId: string | null
  /** The model it was trained from, if that is not its round's. */
  readonly baseSha256: string | null
  /** Distinguishes the round's devices, and orders them. */
  readonly key: string
}

/** Read at a time: an answer with ten thousand rows is held several times over on its way here. */
const PAGE = 1000

/** What a round's devices delivered, by their user-chosen ids. */
export const createUpdatesReport = () => ({
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

  /** A page of the round's updates, in the order of their devices' ids. */
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
})

/** How keys of namesakes end, and those of devices whose names end so: no two keys of a round are the same. */
const KEY_SUFFIX = /\([0-9a-f-]{36}\)$/

/**
 * The key is the user-chosen id, which in nearly all rounds is unique, so that their bytes are what they always were. Devices of
 * several organizations with one id in a federation's round have their internal id behind it.
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

export type UpdatesReport = ReturnType<typeof createUpdatesReport>
