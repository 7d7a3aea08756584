import { type RawBuilder, sql } from 'kysely'
import { activeSince } from '../../../domain/device.ts'
import { coinBound } from '../../../domain/poisson-sampling.ts'
import { drawOrdinals, type Random, sample } from '../../../domain/sampling.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** The devices that a round may select. */
export interface Scope {
  /** Null for devices without an organization; `any` for a group without a federation, which may have members of any. */
  readonly orgIds: readonly (string | null)[] | 'any'
  readonly groupId: string | null
}

export interface Draw {
  readonly scope: Scope
  readonly count: number
  readonly now: Date
  /** When the organization's round before this one began; null before its first. */
  readonly lastRoundAt: Date | null
  /** The device that started the round and takes part anyway. */
  readonly except: string | null
  /** An SQL condition on the device `d`: those that meet it are left out. */
  readonly without: RawBuilder<boolean> | null
  readonly random: Random
}

/** If a smaller share of the numbers belongs to devices that may be drawn, reading the organization's devices costs less. */
const WORTH_DRAWING = 1 / 16

/** Waits for devices that are being erased and leaves them out; nobody erases the others before the transaction ends. */
const BUT_ERASED = sql`for key share of d`

/** Selects devices for rounds. */
export const selectionStore = {
  /**
   * Draws devices of the scope, uniformly without replacement: first from those heard from lately, and only if these are too
   * few from the others, some of which may never come back. Draws numbers at random and looks them up, so that a draw from
   * one organization does not scan the fleet; if few devices are active, reads all of them instead.
   */
  async drawActive(db: Executor, draw: Draw): Promise<string[]> {
    if (draw.count <= 0) return []
    const eligible = eligibleFor(draw)
    const live = isLive(draw)
    const { scope } = draw
    const orgId =
      scope.groupId === null && scope.orgIds !== 'any' && scope.orgIds.length === 1 ? scope.orgIds[0] : undefined
    if (orgId !== undefined) {
      const { rows: sizes } = await sql<{ max: number | null; own: number | null }>`
        select (select max(ordinal) from devices) as max,
          (select devices from device_counts where org_id = ${orgId ?? ''}) as own`.execute(db)
      const [max, own] = [sizes[0]!.max ?? 0, sizes[0]!.own ?? 0]
      if (draw.count * 8 < own) {
        const drawn = new Set<string>()
        let share = own / max
        for (let attempt = 0; attempt < 3 && drawn.size < draw.count && share >= WORTH_DRAWING; attempt++) {
          const missing = draw.count - drawn.size
          // Only a quarter more than expected to suffice, because looking up a number costs a page read in a large fleet.
          const ordinals = drawOrdinals(max, Math.ceil((1.25 * missing) / share) + 8, draw.random)
          const { rows } = await sql<{ id: string }>`
            select id from devices d where ordinal = any(${ordinals}::bigint[]) and org_id is not distinct from ${orgId}
              and ${eligible} and ${live} ${BUT_ERASED}`.execute(db)
          for (const id of sample(rows, rows.length, draw.random)) if (drawn.size < draw.count) drawn.add(id.id)
          share = rows.length / ordinals.length
        }
        if (drawn.size === draw.count) return [...drawn]
      }
    }
    const { rows } = await sql<{ id: string }>`
      select id from devices d where ${within(scope)} and ${eligible} order by ${live} desc, random()
      limit ${draw.count} ${BUT_ERASED}`.execute(db)
    return rows.map((row) => row.id)
  },

  /** Counts the devices of the scope that may be drawn, up to `enough`. */
  async countActive(db: Executor, scope: Scope, now: Date, enough: number | null = null): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from devices d where ${within(scope)} and ${mayBeDrawn(now)} limit ${enough}) as active`.execute(db)
    return rows[0]!.count
  },

  /** Counts the devices of the scope that meet `condition` and of which a heartbeat is expected, up to `enough`. */
  async countExpected(
    db: Executor,
    scope: Scope,
    requested: { readonly condition: RawBuilder<boolean>; readonly now: Date; readonly enough: number },
  ): Promise<number> {
    const { condition, now, enough } = requested
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from devices d
        where ${within(scope)} and ${mayBeDrawn(now)} and ${wasHeardLately(now)} and ${condition}
        limit ${enough}) as coming`.execute(db)
    return rows[0]!.count
  },

  /** Excludes devices that missed a round from draws until they are heard from. Locks them in the order of heartbeats. */
  async markMissing(db: Executor, deviceIds: readonly string[], now: Date): Promise<void> {
    if (deviceIds.length === 0) return
    await sql`
      with missing as materialized (
        select id from devices where id = any(${deviceIds}::uuid[]) order by device_id for no key update)
      update devices d set missed_at = ${now} from missing where d.id = missing.id`.execute(db)
  },

  /** True if the device belongs to the scope and trains. */
  async belongsTo(db: Executor, scope: Scope, deviceId: string): Promise<boolean> {
    const { rows } = await sql`
      select from devices d where d.id = ${deviceId} and d.trains and ${within(scope)}`.execute(db)
    return rows.length === 1
  },

  /** True if the device, by its internal id, is in the group. Part of the statement that gives it a place. */
  isInGroup: (groupId: RawBuilder<unknown>, deviceId: string): RawBuilder<boolean> => sql<boolean>`
    exists (select from device_group_members m where m.group_id = ${groupId} and m.device_id = ${deviceId})`,

  /** The recent interval between the device's heartbeats, in seconds; 0 before the first. Part of a statement. */
  heartbeatSecondsOf: (deviceId: RawBuilder<unknown>): RawBuilder<number> => sql<number>`
    coalesce((select d.heartbeat_seconds from devices d where d.id = ${deviceId}), 0)`,

  /**
   * The devices that said in their last heartbeat that they train, as a relation with `id`, `last_heartbeat`, and `silent_at`: when
   * they will have been silent for three of their intervals, and at least `seconds`. Part of a statement.
   */
  training: ({ seconds, up }: Silence): RawBuilder<unknown> => sql`(
    select d.id, d.last_heartbeat, greatest(d.last_heartbeat, ${up}) + greatest(${seconds}::float8,
      3 * greatest(coalesce(d.heartbeat_seconds, 0), ${USUAL_INTERVAL_SECONDS})) * interval '1 second' as silent_at
    from devices d where d.metrics ->> 'training' = 'true')`,
}

export interface Silence {
  readonly seconds: number
  /** Since when the service could receive heartbeats. */
  readonly up: Date
}

/** Registration counts as the first sign of life: this requires a heartbeat after it. */
const WAS_HEARD = sql<boolean>`(d.last_heartbeat > d.created_at)`

/** The longest heartbeat interval of a device that does not know the service's pace yet. */
const USUAL_INTERVAL_SECONDS = 20

/** True if the device was heard from within two of its own heartbeat intervals. */
const wasHeardLately = (now: Date): RawBuilder<boolean> => sql<boolean>`(
  d.last_heartbeat + 2 * greatest(coalesce(d.heartbeat_seconds, 0), ${USUAL_INTERVAL_SECONDS}) * interval '1 second'
    >= ${now})`

/** Heard from since the last round began, or lately: registration alone is no sign that a device will come. */
const isLive = ({ now, lastRoundAt }: Draw): RawBuilder<boolean> =>
  sql<boolean>`(${WAS_HEARD} and (d.last_heartbeat >= coalesce(${lastRoundAt}::timestamptz, 'infinity') or ${wasHeardLately(now)}))`

/** Active, takes part in training, and was heard from since it was missing from a round. */
const mayBeDrawn = (now: Date): RawBuilder<boolean> => sql<boolean>`(
  d.status = 'active' and d.trains and d.last_heartbeat >= ${activeSince(now)}
  and (d.missed_at is null or d.last_heartbeat >= d.missed_at))`

const eligibleFor = (draw: Draw): RawBuilder<boolean> => sql<boolean>`
  ${mayBeDrawn(draw.now)} and d.id is distinct from ${draw.except}
  and ${draw.without === null ? sql<boolean>`true` : sql<boolean>`not ${draw.without}`}`

/** Phrased for the indexes on org_id and on members: a small scope in a large fleet reads only its own devices. */
const within = ({ orgIds, groupId }: Scope): RawBuilder<boolean> => {
  const ofGroup =
    groupId === null
      ? sql<boolean>`true`
      : sql<boolean>`d.id in (select m.device_id from device_group_members m where m.group_id = ${groupId})`
  if (orgIds === 'any') return ofGroup
  if (orgIds.length === 1 && orgIds[0] === null) return sql<boolean>`${ofGroup} and d.org_id is null`
  if (orgIds.length === 1) return sql<boolean>`${ofGroup} and d.org_id = ${orgIds[0]}`
  return sql<boolean>`${ofGroup} and d.org_id = any(${orgIds.filter((id) => id !== null)}::text[])`
}

/** The devices that may be drawn for a private round, and the draw. None is preferred: only chance decides. */
export const privateDrawStore = {
  /** N: the number of eligible devices of the scope. */
  async countEligible(db: Executor, scope: Scope, activeSince: Date): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from devices d where ${eligible(scope, activeSince)}`.execute(db)
    return rows[0]!.count
  },

  /**
   * Returns the internal ids of the drawn devices, in no particular order. A device's coin is the first 64 bits of SHA-256
   * over the draw's seed and its own id: with a secret seed of 32 random bytes, used once and never stored, the coins are
   * independent and indistinguishable from chance. The database tosses them, which keeps a large fleet off the event loop.
   */
  async draw(
    db: Executor,
    requested: {
      readonly scope: Scope
      readonly activeSince: Date
      readonly sampleRate: number
      readonly seed: Uint8Array
    },
  ): Promise<string[]> {
    const { scope, activeSince, sampleRate, seed } = requested
    const bound = coinBound(sampleRate)
    const isDrawn =
      bound === null
        ? sql<boolean>`true`
        : sql<boolean>`substring(sha256(decode(${Buffer.from(seed).toString('hex')}, 'hex') || uuid_send(d.id)) for 8)
            < decode(${bound}, 'hex')`
    const { rows } = await sql<{ id: string }>`
      select id from devices d where ${eligible(scope, activeSince)} and ${isDrawn} ${BUT_ERASED}`.execute(db)
    return rows.map(({ id }) => id)
  },
}

const eligible = (scope: Scope, activeSince: Date) =>
  sql<boolean>`${within(scope)} and d.status = 'active' and d.trains and d.last_heartbeat >= ${activeSince}`
