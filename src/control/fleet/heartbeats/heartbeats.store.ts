import { type RawBuilder, sql } from 'kysely'
import type { DeviceStatus } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface Beat {
  readonly deviceId: string
  readonly status: DeviceStatus | null
  readonly metrics: Readonly<Record<string, unknown>> | null
  /** Whether it takes part in rounds; null: as it has said before. */
  readonly trains: boolean | null
  readonly at: Date
  /** How long it waits for its answer, and so for its next heartbeat at least. */
  readonly waitSeconds: number
  /** When set, the beat counts only for this device (internal id): what a device's own key may do. */
  readonly onlyId: string | null
  /** When set, the beat counts only inside this organization. */
  readonly onlyOrg: string | null
}

export interface Heard {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly reported: DeviceStatus
  readonly trains: boolean
  readonly lastHeartbeat: Date
  readonly pendingRoundId: string | null
  /** That it was drawn for a private round is told to the device alone, and to admins. */
  readonly pendingIsPrivate?: boolean
}

export interface OpenRound {
  readonly id: string
  readonly orgId: string | null
  /** Only members of the group may join; which devices those are is looked at then. */
  readonly groupId: string | null
  /** The organizations of its federation; null where it has none. */
  readonly memberOrgs: readonly string[] | null
}

/** Whose devices training waits for, or is about to. */
export type Wanting = Omit<OpenRound, 'id'>

/** After a round the next one may be about to begin. */
const NEXT_ROUND_MS = 60_000

/** No device waits longer for its next heartbeat, however long it was away. */
const LONGEST_INTERVAL_SECONDS = 300

interface HeardRow {
  /** Which of the beats it answers, from 1. */
  n: number
  id: string
  device_id: string
  org_id: string | null
  status: DeviceStatus
  trains: boolean
  last_heartbeat: Date
  pending_round_id: string | null
  pending_is_private: boolean
  open_rounds: OpenRound[] | null
  wanting: Wanting[] | null
}

/** An asynchronous round's devices train on while it is added up, and until the next has taken them along. */
const BETWEEN_ROUNDS_MS = 30_000

export const createHeartbeatsStore = () => ({
  /**
   * Writes many heartbeats, and reads which round awaits each device, which rounds still have room, and for whose devices there
   * is training, in one statement. Null is a beat of no device, or of several. Ids come sorted, so that batches of several processes lock rows in the same order.
   */
  async beat(
    db: Executor,
    beats: readonly Beat[],
    now: Date,
  ): Promise<{ heard: (Heard | null)[]; open: OpenRound[]; wanting: Wanting[] }> {
    const { rows } = await sql<HeardRow>`
      with target as (
        -- Nearly every beat is of the device that owns the key. Else it is of the only one of that name that the key sees.
        select b.*, coalesce(b.only_id, (
          select (array_agg(o.id))[1] from devices o
          where o.device_id = b.device_id and (b.only_org is null or coalesce(o.org_id, 'default') = b.only_org)
          having count(*) = 1)) as id
        from unnest(
          ${beats.map((b) => b.deviceId)}::text[], ${beats.map((b) => b.status)}::text[],
          ${beats.map((b) => (b.metrics === null ? null : JSON.stringify(b.metrics)))}::text[],
          ${beats.map((b) => b.at)}::timestamptz[],
          ${beats.map((b) => b.onlyId)}::uuid[], ${beats.map((b) => b.onlyOrg)}::text[],
          ${beats.map((b) => b.trains)}::boolean[], ${beats.map((b) => b.waitSeconds)}::real[]
        ) with ordinality as b (device_id, status, metrics, at, only_id, only_org, trains, wait_seconds, n)
      ), beat as (
        update devices d set
          last_heartbeat = greatest(d.last_heartbeat, b.at),
          updated_at = greatest(d.updated_at, b.at),
          status = coalesce(b.status, d.status),
          trains = coalesce(b.trains, d.trains),
          -- As long as the last one, and not much shorter than those before: rounds make heartbeats come in bursts.
          heartbeat_seconds = least(${LONGEST_INTERVAL_SECONDS}::real, greatest(b.wait_seconds,
            extract(epoch from b.at - d.last_heartbeat)::real, coalesce(d.heartbeat_seconds, 0) / 2)),
          metrics = coalesce(b.metrics::jsonb, d.metrics)
        from target b where d.id = b.id and ${isMeant(sql`b`, sql`d`)}
        returning d.id, d.device_id, d.org_id, d.status, d.trains, d.last_heartbeat
      ), running as (
        select id, org_id, group_id, federation_id, started_at,
          privacy is not null as is_private,
          -- The draw of a private round is what its noise is reckoned with: nobody selects itself.
          taking_part < target_devices and privacy is null as has_room
        from rounds where status = 'active' and timeout_at > ${now}
      ), awaiting as (
        select id, started_at, is_private from running
        union all select id, started_at, false from rounds
          where status = 'aggregating' and plan ? 'asynchronous'
        union all select id, started_at, false from rounds
          where ended_at > ${new Date(now.getTime() - BETWEEN_ROUNDS_MS)} and updates_deleted_at is null
            and plan ? 'asynchronous'
      ), wanting as (
        select org_id, group_id, federation_id from training_jobs where ended_at is null
        union select org_id, group_id, federation_id from rounds where status in ('pending', 'active', 'aggregating')
        union select org_id, group_id, federation_id from rounds
          where ended_at > ${new Date(now.getTime() - NEXT_ROUND_MS)} and updates_deleted_at is null
      )
      select target.n, beat.*, awaited.round_id as pending_round_id, coalesce(awaited.is_private, false) as pending_is_private,
        (select json_agg(json_build_object('id', id, 'orgId', org_id, 'groupId', group_id, 'memberOrgs',
          ${memberOrgsOf(sql`running.federation_id`)}) order by started_at, id)
          from running where has_room) as open_rounds,
        (select json_agg(json_build_object('orgId', org_id, 'groupId', group_id, 'memberOrgs',
          ${memberOrgsOf(sql`wanting.federation_id`)})) from wanting) as wanting
      from target join beat on beat.id = target.id and ${isMeant(sql`target`, sql`beat`)} left join lateral (
        select coalesce(p.base_round_id, p.round_id) as round_id, awaiting.is_private
        from awaiting join round_participants p on p.round_id = awaiting.id and p.device_id = beat.id
        where p.state = 'selected' order by awaiting.started_at limit 1
      ) as awaited on true`.execute(db)
    const heard = new Map(rows.map((row) => [row.n, fromRow(row)]))
    return {
      open: rows[0]?.open_rounds ?? [],
      wanting: rows[0]?.wanting ?? [],
      heard: beats.map((_, at) => heard.get(at + 1) ?? null),
    }
  },
})

const fromRow = (row: HeardRow): Heard => ({
  id: row.id,
  deviceId: row.device_id,
  orgId: row.org_id,
  reported: row.status,
  trains: row.trains,
  lastHeartbeat: row.last_heartbeat,
  pendingRoundId: row.pending_round_id,
  pendingIsPrivate: row.pending_is_private,
})

/** The organizations of a federation; null where there is none. */
const memberOrgsOf = (federationId: RawBuilder<unknown>) => sql`case when ${federationId} is not null then (
  select coalesce(json_agg(m.org_id), '[]') from federation_members m
  where m.federation_id = ${federationId} and m.status = 'active') end`

/** A key's own device goes by its name, in the organization that the key is bound to or the request names. */
const isMeant = (target: RawBuilder<unknown>, device: RawBuilder<unknown>) => sql`(
  ${target}.device_id = ${device}.device_id
  and (${target}.only_org is null or ${target}.only_org = coalesce(${device}.org_id, 'default')))`

export type HeartbeatsStore = ReturnType<typeof createHeartbeatsStore>
