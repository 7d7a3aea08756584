import { type Selectable, sql } from 'kysely'
import type { Receipt } from '../../aggregation/receipt.ts'
import type { Executor } from '../../db/open.ts'
import type { RoundRow } from '../../db/rows.ts'
import { isUniqueViolation } from '../../db/violations.ts'
import { conflict } from '../../domain/errors.ts'
import type { RoundStatus } from '../../domain/round.ts'
import { drawOrdinals, type Random, sample } from '../../domain/sampling.ts'

export interface StoredRound {
  readonly id: string
  readonly orgId: string | null
  readonly roundNumber: number
  readonly status: RoundStatus
  readonly targetDevices: number
  readonly minDevices: number
  readonly timeoutSeconds: number
  readonly graceSeconds: number
  readonly plan: RoundPlan
  readonly takingPart: number
  readonly participatedDevices: number
  readonly completedDevices: number
  readonly failedDevices: number
  readonly globalModelId: string | null
  readonly globalModelVersion: number | null
  readonly globalSha256: string | null
  readonly aggregatedModelId: string | null
  readonly aggregatedSha256: string | null
  readonly quorumAt: Date | null
  readonly failureReason: string | null
  readonly receipt: Receipt | null
  readonly attempts: number
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly timeoutAt: Date
  readonly completedAt: Date | null
  readonly endedAt: Date | null
  readonly updatesDeletedAt: Date | null
}

export interface RoundPlan {
  readonly strategy: 'fedavg'
  readonly hyperparameters: Readonly<Record<string, unknown>>
}

/** What a start decides; everything else a round comes to have later. */
export type NewRound = Pick<
  StoredRound,
  | 'id'
  | 'orgId'
  | 'targetDevices'
  | 'minDevices'
  | 'timeoutSeconds'
  | 'graceSeconds'
  | 'plan'
  | 'globalModelId'
  | 'globalModelVersion'
  | 'globalSha256'
  | 'timeoutAt'
> & { readonly startedAt: Date }

/** Where fewer numbers than this belong to a device that may be drawn, reading the organisation's devices costs less. */
const WORTH_DRAWING = 1 / 16

export const createRoundsStore = () => ({
  /** Inserts an active round with the next number of its organisation; conflict while another is in progress. */
  async insert(db: Executor, round: NewRound, takingPart: number): Promise<StoredRound> {
    const { rows } = await sql<Selectable<RoundRow>>`
      insert into rounds (id, org_id, round_number, status, target_devices, min_devices, timeout_seconds,
        grace_seconds, plan, taking_part, global_model_id, global_model_version, global_sha256, created_at, started_at,
        timeout_at)
      select ${round.id}, ${round.orgId}, coalesce(max(round_number), 0) + 1, 'active', ${round.targetDevices},
        ${round.minDevices}, ${round.timeoutSeconds}, ${round.graceSeconds}, ${JSON.stringify(round.plan)},
        ${takingPart}, ${round.globalModelId}, ${round.globalModelVersion}, ${round.globalSha256},
        ${round.startedAt}::timestamptz, ${round.startedAt}::timestamptz, ${round.timeoutAt}::timestamptz
      from rounds where org_id is not distinct from ${round.orgId}
      returning *`
      .execute(db)
      .catch((error: unknown) => {
        if (isUniqueViolation(error)) throw alreadyInProgress()
        throw error
      })
    return fromRow(rows[0]!)
  },

  async find(db: Executor, id: string): Promise<StoredRound | null> {
    const row = await db.selectFrom('rounds').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The round, locked until the transaction ends. */
  async lock(db: Executor, id: string): Promise<StoredRound | null> {
    const row = await db.selectFrom('rounds').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The latest round that a key bound to `orgId` (null: unbound) may see. */
  async latest(db: Executor, orgId: string | null): Promise<StoredRound | null> {
    let query = db.selectFrom('rounds').selectAll()
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    const row = await query.orderBy('created_at', 'desc').orderBy('round_number', 'desc').limit(1).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async inProgress(db: Executor, orgId: string | null): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .selectAll()
      .where('org_id', 'is not distinct from', orgId)
      .where('status', 'in', ['pending', 'active', 'aggregating'])
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async list(
    db: Executor,
    orgId: string | null,
    page: { limit: number; offset: number },
  ): Promise<{ rounds: StoredRound[]; total: number }> {
    const visible = orgId === null ? sql<boolean>`true` : sql<boolean>`org_id = ${orgId}`
    const rows = await db
      .selectFrom('rounds')
      .selectAll()
      .where(visible)
      .orderBy('created_at', 'desc')
      .orderBy('round_number', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await db
      .selectFrom('rounds')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(visible)
      .executeTakeFirstOrThrow()
    return { rounds: rows.map(fromRow), total }
  },

  /** Active rounds that the clock or their last participant has made due, locked; those others hold are skipped. */
  async lockDue(db: Executor, now: Date): Promise<StoredRound[]> {
    const { rows } = await sql<Selectable<RoundRow>>`
      select * from rounds where status = 'active' and (
        timeout_at <= ${now} or (quorum_at is not null and (
          completed_devices >= taking_part or quorum_at + grace_seconds * interval '1 second' <= ${now})))
      order by id for update skip locked`.execute(db)
    return rows.map(fromRow)
  },

  async update(db: Executor, id: string, changes: Partial<RoundChanges>): Promise<void> {
    await db.updateTable('rounds').set(changes).where('id', '=', id).execute()
  },

  /**
   * Active devices of the round's organisation, drawn uniformly without replacement. Numbers are drawn at random and
   * looked up, so that a draw does not scan the fleet; where few devices are active, all of them are read instead.
   */
  async drawActive(
    db: Executor,
    draw: { orgId: string | null; count: number; activeSince: Date; except: string | null; random: Random },
  ): Promise<string[]> {
    if (draw.count === 0) return []
    const eligible = sql<boolean>`status = 'active' and last_heartbeat >= ${draw.activeSince}
      and org_id is not distinct from ${draw.orgId} and id is distinct from ${draw.except}`
    const { rows: sizes } = await sql<{ max: number | null; own: number | null }>`
      select (select max(ordinal) from devices) as max,
        (select devices from device_counts where org_id = ${draw.orgId ?? ''}) as own`.execute(db)
    const [max, own] = [sizes[0]!.max ?? 0, sizes[0]!.own ?? 0]
    if (draw.count * 8 < own) {
      const drawn = new Set<string>()
      let share = own / max
      for (let attempt = 0; attempt < 3 && drawn.size < draw.count && share >= WORTH_DRAWING; attempt++) {
        const missing = draw.count - drawn.size
        // A quarter more than should do, because a number that has to be looked up costs a page read in a large fleet.
        const ordinals = drawOrdinals(max, Math.ceil((1.25 * missing) / share) + 8, draw.random)
        const { rows } = await sql<{ id: string }>`
          select id from devices where ordinal = any(${ordinals}::bigint[]) and ${eligible}`.execute(db)
        for (const id of sample(rows, rows.length, draw.random)) if (drawn.size < draw.count) drawn.add(id.id)
        share = rows.length / ordinals.length
      }
      if (drawn.size === draw.count) return [...drawn]
    }
    // Said once more in words that the index on org_id serves: a small organisation in a large fleet reads only its own.
    const ofOrg = draw.orgId === null ? sql<boolean>`org_id is null` : sql<boolean>`org_id = ${draw.orgId}`
    const { rows } = await sql<{ id: string }>`
      select id from devices where ${ofOrg} and ${eligible} order by random() limit ${draw.count}`.execute(db)
    return rows.map((row) => row.id)
  },
})

/** Columns that later steps of a round's life set; jsonb columns as JSON text. */
export interface RoundChanges {
  status: RoundStatus
  quorum_at: Date
  completed_devices: number
  participated_devices: number
  failed_devices: number
  taking_part: number
  failure_reason: string
  receipt: string
  aggregated_model_id: string
  aggregated_sha256: string
  completed_at: Date
  ended_at: Date
  lease_owner: string | null
  lease_until: Date | null
  updates_deleted_at: Date
}

export const alreadyInProgress = () =>
  conflict('A training round is in progress already; only one may be. Wait until it ends, then start the next.')

export const fromRow = (row: Selectable<RoundRow>): StoredRound => ({
  id: row.id,
  orgId: row.org_id,
  roundNumber: row.round_number,
  status: row.status as RoundStatus,
  targetDevices: row.target_devices,
  minDevices: row.min_devices,
  timeoutSeconds: row.timeout_seconds,
  graceSeconds: row.grace_seconds,
  plan: row.plan as unknown as RoundPlan,
  takingPart: row.taking_part,
  participatedDevices: row.participated_devices,
  completedDevices: row.completed_devices,
  failedDevices: row.failed_devices,
  globalModelId: row.global_model_id,
  globalModelVersion: row.global_model_version,
  globalSha256: row.global_sha256,
  aggregatedModelId: row.aggregated_model_id,
  aggregatedSha256: row.aggregated_sha256,
  quorumAt: row.quorum_at,
  failureReason: row.failure_reason,
  receipt: row.receipt as unknown as Receipt | null,
  attempts: row.attempts,
  createdAt: row.created_at,
  startedAt: row.started_at,
  timeoutAt: row.timeout_at!,
  completedAt: row.completed_at,
  endedAt: row.ended_at,
  updatesDeletedAt: row.updates_deleted_at,
})

export type RoundsStore = ReturnType<typeof createRoundsStore>
