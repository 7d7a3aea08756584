import { sql } from 'kysely'
import type { Executor } from '../../db/open.ts'
import type { DeviceStatus } from '../../domain/device.ts'

export interface Beat {
  readonly deviceId: string
  readonly status: DeviceStatus | null
  readonly metrics: Readonly<Record<string, unknown>> | null
  readonly at: Date
  /** When set, the beat counts only for this device (internal id): what a device's own key may do. */
  readonly onlyId: string | null
  /** When set, the beat counts only inside this organisation. */
  readonly onlyOrg: string | null
}

export interface Heard {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly reported: DeviceStatus
  readonly lastHeartbeat: Date
  readonly pendingRoundId: string | null
}

export interface OpenRound {
  readonly id: string
  readonly orgId: string | null
  /** Only members of the group may join; which devices those are is looked at then. */
  readonly groupId: string | null
  /** The organisations of its federation; null where it has none. */
  readonly memberOrgs: readonly string[] | null
}

/** An asynchronous round's devices train on while it is added up, and until the next has taken them along. */
const BETWEEN_ROUNDS_MS = 30_000

export const createHeartbeatsStore = () => ({
  /**
   * Writes many heartbeats, and reads which round awaits each device, which rounds still have room, and whether a job waits
   * for devices, in one statement. Ids come sorted, so that batches of several processes lock rows in the same order.
   */
  async beat(
    db: Executor,
    beats: readonly Beat[],
    now: Date,
  ): Promise<{ heard: Heard[]; open: OpenRound[]; jobsWait: boolean }> {
    const { rows } = await sql<{
      id: string
      device_id: string
      org_id: string | null
      status: DeviceStatus
      last_heartbeat: Date
      pending_round_id: string | null
      open_rounds: OpenRound[] | null
      jobs_wait: boolean
    }>`
      with beat as (
        update devices d set
          last_heartbeat = greatest(d.last_heartbeat, b.at),
          updated_at = greatest(d.updated_at, b.at),
          status = coalesce(b.status, d.status),
          metrics = coalesce(b.metrics::jsonb, d.metrics)
        from unnest(
          ${beats.map((b) => b.deviceId)}::text[], ${beats.map((b) => b.status)}::text[],
          ${beats.map((b) => (b.metrics === null ? null : JSON.stringify(b.metrics)))}::text[],
          ${beats.map((b) => b.at)}::timestamptz[],
          ${beats.map((b) => b.onlyId)}::uuid[], ${beats.map((b) => b.onlyOrg)}::text[]
        ) as b (device_id, status, metrics, at, only_id, only_org)
        where d.device_id = b.device_id
          and (b.only_id is null or d.id = b.only_id)
          and (b.only_org is null or d.org_id = b.only_org)
        returning d.id, d.device_id, d.org_id, d.status, d.last_heartbeat
      ), running as (
        select id, org_id, group_id, federation_id, started_at,
          -- Where noise is reckoned with a chance of being selected, nobody selects itself.
          taking_part < target_devices and coalesce((privacy->>'sampleRate')::float8, 1) >= 1 as has_room
        from rounds where status = 'active' and timeout_at > ${now}
      ), awaiting as (
        select id, started_at from running
        union all select id, started_at from rounds
          where status = 'aggregating' and plan ? 'asynchronous'
        union all select id, started_at from rounds
          where ended_at > ${new Date(now.getTime() - BETWEEN_ROUNDS_MS)} and updates_deleted_at is null
            and plan ? 'asynchronous'
      )
      select beat.*, awaited.round_id as pending_round_id,
        (select json_agg(json_build_object('id', id, 'orgId', org_id, 'groupId', group_id, 'memberOrgs',
          case when federation_id is not null then (select coalesce(json_agg(m.org_id), '[]') from federation_members m
            where m.federation_id = running.federation_id and m.status = 'active') end) order by started_at, id)
          from running where has_room) as open_rounds,
        (select exists (select from training_jobs where ended_at is null and waiting_until is not null)) as jobs_wait
      from beat left join lateral (
        select coalesce(p.base_round_id, p.round_id) as round_id
        from awaiting join round_participants p on p.round_id = awaiting.id and p.device_id = beat.id
        where p.state = 'selected' order by awaiting.started_at limit 1
      ) as awaited on true`.execute(db)
    return {
      open: rows[0]?.open_rounds ?? [],
      jobsWait: rows[0]?.jobs_wait ?? false,
      heard: rows.map((row) => ({
        id: row.id,
        deviceId: row.device_id,
        orgId: row.org_id,
        reported: row.status,
        lastHeartbeat: row.last_heartbeat,
        pendingRoundId: row.pending_round_id,
      })),
    }
  },
})

export type HeartbeatsStore = ReturnType<typeof createHeartbeatsStore>
