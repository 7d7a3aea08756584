import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundParticipantRow } from '../../../platform/db/rows.ts'
import { fromRow, type Participant } from './participants.store.ts'
import { type StoredUpdate, fromRow as updateFromRow } from './updates.store.ts'

export interface ListedParticipant extends Participant {
  /** Internal id. */
  readonly deviceId: string
  /** The id that the user gave it. */
  readonly deviceName: string
  readonly orgId: string | null
  readonly selectedAt: Date
  readonly acknowledgedAt: Date | null
  readonly reportedAt: Date | null
}

/** An update with what its aggregation needs to know. */
export interface DeliveredUpdate {
  readonly update: StoredUpdate
  /** The user-chosen id of its device. */
  readonly deviceName: string
  readonly orgId: string | null
  /** The model it was trained from, where that is not its round's. */
  readonly baseSha256: string | null
  /** What tells the round's devices apart, and orders them. */
  readonly key: string
}

/** Read at a time: an answer with ten thousand rows is held several times over on its way here. */
const PAGE = 1000

/** Who takes part in a round, and what they delivered, by the user-chosen ids of the devices. */
export const createParticipantsReport = () => ({
  /** A page of the round's participants, in the order of these ids. */
  async page(
    db: Executor,
    roundId: string,
    page: { limit: number; offset: number },
  ): Promise<{ participants: ListedParticipant[]; total: number }> {
    const { rows } = await sql<Selectable<RoundParticipantRow> & { device_name: string; org_id: string | null }>`
      select p.*, d.device_id as device_name, d.org_id from round_participants p join devices d on d.id = p.device_id
      where p.round_id = ${roundId} order by d.device_id, d.org_id, p.device_id limit ${page.limit} offset ${page.offset}`.execute(
      db,
    )
    const participants = rows.map((row) => ({
      ...fromRow(row),
      deviceId: row.device_id,
      deviceName: row.device_name,
      orgId: row.org_id,
      selectedAt: row.selected_at,
      acknowledgedAt: row.acknowledged_at,
      reportedAt: row.reported_at,
    }))
    const { total } = await db
      .selectFrom('round_participants')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('round_id', '=', roundId)
      .executeTakeFirstOrThrow()
    return { participants, total }
  },

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
        delivered.push({ update: updateFromRow(row), deviceName, orgId, baseSha256 })
      }
      if (rows.length < PAGE) return withKeys(delivered)
    }
  },

  /** A page of the round's updates, in the order of their devices' ids. */
  async updatesPage(
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
    const updates = rows.map((row) => ({ update: updateFromRow(row), deviceName: row.device_name }))
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

export type ParticipantsReport = ReturnType<typeof createParticipantsReport>
