import { sql } from 'kysely'
import type { DeviceStatus } from '../../../domain/device.ts'
import { MAX_SLOTS, slotAt } from '../../../domain/heartbeat.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredDevice } from '../devices/devices.service.ts'

export interface HeartbeatWrite {
  readonly deviceId: string
  readonly status: DeviceStatus | null
  readonly metrics: Readonly<Record<string, unknown>> | null
  readonly capabilities: Readonly<Record<string, unknown>> | null
  /** Whether it takes part in rounds; null if it does not say. */
  readonly trains: boolean | null
  readonly at: Date
  /** How long it waits for its response, and thus at least until its next heartbeat. */
  readonly waitSeconds: number
  /** When set, the beat counts only for this device (internal id): what a device's own key may do. */
  readonly onlyId: string | null
  /** When set, the beat counts only within this organization. */
  readonly onlyOrg: string | null
  /** The number of heartbeats that it stands for. */
  readonly count: number
  /** Whether it was answered before it is written: what was reported about the device since then is newer. */
  readonly isLate: boolean
}

export type Received = Pick<StoredDevice, 'id' | 'deviceId' | 'orgId' | 'reported' | 'trains' | 'lastHeartbeat'>

/** The longest heartbeat interval that is recorded, however long a device was away. */
const MAX_INTERVAL_SECONDS = 300

interface ReceivedRow {
  /** The number, from 1, of the heartbeat that it answers. */
  n: number
  id: string
  device_id: string
  org_id: string | null
  status: DeviceStatus
  trains: boolean
  last_heartbeat: Date
  is_announced: boolean
  groups_outdated: boolean
}

/** The maximum of a smallint. */
const MAX_COUNT = 32_767

export const heartbeatsStore = {
  /** Returns the latest counts of the device's heartbeats, and the slot of the last of them; null before the first. */
  async counts(
    db: Executor,
    id: string,
  ): Promise<{ readonly counts: readonly number[]; readonly slot: number } | null> {
    const { rows } = await sql<{ counts: readonly number[]; slot: number }>`
      select to_jsonb(heartbeat_counts) as counts, heartbeat_slot as slot from devices
      where id = ${id} and heartbeat_slot is not null`.execute(db)
    return rows[0] ?? null
  },

  /**
   * Writes many heartbeats in one statement, which also returns whether there is anything to announce, and the devices whose
   * dynamic groups must be determined again. Null for a heartbeat of no device, or of several. Ids are sorted, so that batches
   * of several processes lock rows in the same order.
   */
  async record(
    db: Executor,
    heartbeats: readonly HeartbeatWrite[],
  ): Promise<{ received: (Received | null)[]; isAnnounced: boolean; regrouped: Received[] }> {
    const regrouped: Received[] = []
    const received: (Received | null)[] = heartbeats.map(() => null)
    let unanswered = heartbeats.map((_, at) => at)
    let isAnnounced = false
    for (;;) {
      const rows = await write(
        db,
        unanswered.map((at) => heartbeats[at]!),
      )
      for (const row of rows) {
        const device = fromRow(row)
        received[unanswered[row.n - 1]!] = device
        if (row.groups_outdated) regrouped.push(device)
      }
      isAnnounced ||= rows[0]?.is_announced === true
      // A statement changes a row only once: if two keys beat for one device, the next statement writes the other's.
      unanswered = unanswered.filter((at) => received[at] === null)
      if (rows.length === 0 || unanswered.length === 0) return { received, isAnnounced, regrouped }
    }
  },

  /** Resets times that were written while the clock was ahead: such a device would be active until then, or never selected. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    const latest = latestTrusted(now)
    await sql`
      update devices set last_heartbeat = least(last_heartbeat, ${now}), created_at = least(created_at, ${now}),
        updated_at = least(updated_at, ${now}), missed_at = case when missed_at <= ${latest} then missed_at end,
        heartbeat_slot = null, heartbeat_counts = null
      where id in (select id from devices
        where last_heartbeat > ${latest} or created_at > ${latest} or missed_at > ${latest} for update skip locked)`.execute(
      db,
    )
  },

  // Announcements: ids of later modules' rounds and jobs that concern devices. A heartbeat queries those modules only while
  // there are any, so that a fleet without work costs one lookup in a small table.

  /** Call it in the transaction that publishes the subject, so that no heartbeat sees one without the other. */
  async announce(tx: Executor, subjectId: string): Promise<void> {
    await tx
      .insertInto('announcements')
      .values({ subject_id: subjectId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  /** Deletes announcements that no longer concern any device. */
  async withdraw(db: Executor, subjectIds: readonly string[]): Promise<void> {
    await sql`delete from announcements where subject_id = any(${subjectIds}::uuid[])`.execute(db)
  },
}

const jsonText = (value: object | null): string | null => (value === null ? null : JSON.stringify(value))

/** More bytes than a device's capabilities ever have: from then on, a report replaces them, so that they do not grow forever. */
const MAX_CAPABILITIES = 128 * 1024

const MERGED = sql`case when pg_column_size(d.capabilities || b.capabilities) > ${sql.lit(MAX_CAPABILITIES)}
  then b.capabilities else d.capabilities || b.capabilities end`

const write = async (db: Executor, heartbeats: readonly HeartbeatWrite[]): Promise<ReceivedRow[]> => {
  const { rows } = await sql<ReceivedRow>`
    update devices d set
      last_heartbeat = greatest(d.last_heartbeat, b.at),
      updated_at = greatest(d.updated_at, b.at),
      status = case when b.is_late and d.updated_at >= b.at then d.status else coalesce(b.status, d.status) end,
      trains = case when b.is_late and d.updated_at >= b.at then d.trains else coalesce(b.trains, d.trains) end,
      capabilities = case when b.capabilities is null then d.capabilities else ${MERGED} end,
      groups_outdated = d.groups_outdated or coalesce(${MERGED} <> d.capabilities, false)
        or (not (b.is_late and d.updated_at >= b.at) and coalesce(b.trains, d.trains) <> d.trains),
      -- As long as the last one, and not much shorter than those before: rounds make heartbeats come in bursts.
      heartbeat_seconds = least(${MAX_INTERVAL_SECONDS}::real, greatest(b.wait_seconds,
        extract(epoch from b.at - d.last_heartbeat)::real, coalesce(d.heartbeat_seconds, 0) / 2)),
      metrics = coalesce(b.metrics, d.metrics),
      heartbeat_slot = greatest(b.slot, d.heartbeat_slot),
      heartbeat_counts = case
        when d.heartbeat_slot is null then array[b.beats]::smallint[]
        when b.slot <= d.heartbeat_slot then d.heartbeat_counts[:cardinality(d.heartbeat_counts) - 1]
          || least(d.heartbeat_counts[cardinality(d.heartbeat_counts)] + b.beats, ${MAX_COUNT})::smallint
        else d.heartbeat_counts[greatest(1, cardinality(d.heartbeat_counts) + b.slot - d.heartbeat_slot - ${MAX_SLOTS - 1}):]
          || array_fill(0::smallint, array[least(b.slot - d.heartbeat_slot, ${MAX_SLOTS}) - 1]) || b.beats::smallint
      end
    from (
      select * from unnest(
        ${heartbeats.map((b) => b.deviceId)}::text[], ${heartbeats.map((b) => b.status)}::text[],
        ${heartbeats.map((b) => jsonText(b.metrics))}::jsonb[],
        ${heartbeats.map((b) => jsonText(b.capabilities))}::jsonb[],
        ${heartbeats.map((b) => b.at)}::timestamptz[],
        ${heartbeats.map((b) => b.onlyId)}::uuid[], ${heartbeats.map((b) => b.onlyOrg)}::text[],
        ${heartbeats.map((b) => b.trains)}::boolean[], ${heartbeats.map((b) => b.waitSeconds)}::real[],
        ${heartbeats.map((b) => slotAt(b.at))}::integer[], ${heartbeats.map((b) => Math.min(b.count, MAX_COUNT))}::integer[],
        ${heartbeats.map((b) => b.isLate)}::boolean[]
      ) with ordinality as u (device_id, status, metrics, capabilities, at, only_id, only_org, trains, wait_seconds, slot, beats, is_late, n)
    ) as b
    -- Nearly every beat is of the device that owns the key. Else it is of the only one of that name that the key sees.
    where d.id = coalesce(b.only_id, (
        select (array_agg(o.id))[1] from devices o
        where o.device_id = b.device_id and (b.only_org is null or coalesce(o.org_id, 'default') = b.only_org)
        having count(*) = 1))
      -- A key's own device goes by its name, in the organization that the key is bound to or the request names.
      and d.device_id = b.device_id and (b.only_org is null or b.only_org = coalesce(d.org_id, 'default'))
    returning b.n, d.id, d.device_id, d.org_id, d.status, d.trains, d.last_heartbeat,
      exists (select from announcements) as is_announced, d.groups_outdated`.execute(db)
  return rows
}

const fromRow = (row: ReceivedRow): Received => ({
  id: row.id,
  deviceId: row.device_id,
  orgId: row.org_id,
  reported: row.status,
  trains: row.trains,
  lastHeartbeat: row.last_heartbeat,
})
