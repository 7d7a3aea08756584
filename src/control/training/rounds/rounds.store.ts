import { type Selectable, sql } from 'kysely'
import type { Receipt } from '../../../aggregation/receipt.ts'
import { conflict } from '../../../domain/errors.ts'
import type { RoundStatus } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundRow } from '../../../platform/db/training-rows.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import {
  fromRow,
  type NewRound,
  needsReviewAt,
  ROUND_COLUMNS,
  type RoundPrivacy,
  type StoredRound,
} from './stored-round.store.ts'

export type { NewRound, RoundPlan, RoundPrivacy, StoredRound } from './stored-round.store.ts'

/** The requested noise of a round. */
export type PrivacySettings = Pick<RoundPrivacy, 'noiseMultiplier' | 'clipNorm' | 'adaptiveClip' | 'delta'>

/** A process that does not renew its lease for this long loses the round that it was aggregating. */
const LEASE = sql<Date>`now() + interval '15 seconds'`
/** Delay after a failed attempt, so that other rounds get their turn first. */
const PAUSE = sql<Date>`now() + interval '2 seconds'`

export const roundsStore = {
  /** Inserts an active round with the next number of its organization; conflict while another is in progress. */
  async insert(db: Executor, round: NewRound, takingPart: number): Promise<StoredRound> {
    const { rows } = await sql<Selectable<RoundRow>>`
      insert into rounds (id, org_id, round_number, status, target_devices, min_devices, timeout_seconds,
        grace_seconds, plan, taking_part, global_model_id, global_model_version, global_sha256, created_at, started_at,
        timeout_at, job_id, group_id, federation_id, wanted_updates, state_sha256, control_sha256, privacy, noise_seed,
        review_at, closes_at)
      select ${round.id}, ${round.orgId}, coalesce(max(round_number), 0) + 1, 'active', ${round.targetDevices},
        ${round.minDevices}, ${round.timeoutSeconds}, ${round.graceSeconds}, ${JSON.stringify(round.plan)},
        ${takingPart}, ${round.globalModelId}, ${round.globalModelVersion}, ${round.globalSha256},
        ${round.startedAt}::timestamptz, ${round.startedAt}::timestamptz, ${round.timeoutAt}::timestamptz,
        ${round.jobId}::uuid, ${round.groupId}::uuid, ${round.federationId}::uuid, ${round.wantedUpdates}::integer,
        ${round.stateSha256}, ${round.controlSha256},
        ${round.privacy === null ? null : JSON.stringify(round.privacy)}::jsonb, ${round.noiseSeed},
        ${round.reviewAt}::timestamptz, ${round.closesAt}::timestamptz
      from rounds where org_id is not distinct from ${round.orgId}
      returning *`
      .execute(db)
      .catch((error: unknown) => {
        if (isUniqueViolation(error)) throw alreadyInProgress()
        throw error
      })
    return fromRow(rows[0]!)
  },

  /** In no particular order. */
  async findAll(db: Executor, ids: readonly string[]): Promise<StoredRound[]> {
    const rows = await db.selectFrom('rounds').select(ROUND_COLUMNS).where('id', '=', anyOf(ids)).execute()
    return rows.map(fromRow)
  },

  /** The round, locked until the transaction ends. */
  async lock(db: Executor, id: string): Promise<StoredRound | null> {
    const row = await db.selectFrom('rounds').select(ROUND_COLUMNS).where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The rounds that exist, locked in the order of their ids, so that transactions that lock the same ones cannot deadlock. */
  async lockAll(db: Executor, ids: readonly string[]): Promise<StoredRound[]> {
    const rows = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('id', '=', anyOf(ids))
      .orderBy('id')
      .forUpdate()
      .execute()
    return rows.map(fromRow)
  },

  /** The latest round that a key bound to `orgId` (null: unbound) may see. */
  async latest(db: Executor, orgId: string | null): Promise<StoredRound | null> {
    let query = db.selectFrom('rounds').select(ROUND_COLUMNS)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    const row = await query.orderBy('created_at', 'desc').orderBy('round_number', 'desc').limit(1).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async inProgress(db: Executor, orgId: string | null): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('org_id', 'is not distinct from', orgId)
      .where('status', 'in', ['pending', 'active', 'aggregating'])
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** True if an active round needs processing: it is due by time or by its last participant, or must be reviewed. */
  async isAnyDue(db: Executor, now: Date): Promise<boolean> {
    const { rows } = await sql<{
      due: boolean
    }>`select exists (select from rounds where ${needsReviewAt(now)}) as due`.execute(db)
    return rows[0]!.due
  },

  /** The first of those rounds after this id, locked; skips rounds locked by others. */
  async lockDue(db: Executor, now: Date, after: string): Promise<StoredRound | null> {
    const { rows } = await sql<Selectable<RoundRow>>`
      select * from rounds where ${needsReviewAt(now)} and id > ${after} order by id limit 1
      for update skip locked`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** When the organization's latest round began; null before its first. */
  async lastStartedAt(db: Executor, orgId: string | null): Promise<Date | null> {
    const { rows } = await sql<{ started_at: Date | null }>`
      select started_at from rounds where coalesce(org_id, '') = ${orgId ?? ''}
      order by round_number desc limit 1`.execute(db)
    return rows[0]?.started_at ?? null
  },

  /** The job's round with the highest number; null before its first. */
  async latestOfJob(db: Executor, jobId: string): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('job_id', '=', jobId)
      .orderBy('round_number', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** What the aggregation recorded about each update; null until then. */
  async records(
    db: Executor,
    id: string,
  ): Promise<{ readonly receipt: Receipt | null; readonly screening: readonly ScreenedUpdate[] | null }> {
    const row = await db.selectFrom('rounds').select(['receipt', 'screening']).where('id', '=', id).executeTakeFirst()
    return {
      receipt: (row?.receipt ?? null) as unknown as Receipt | null,
      screening: (row?.screening ?? null) as readonly ScreenedUpdate[] | null,
    }
  },

  async update(db: Executor, id: string, changes: Partial<RoundChanges>): Promise<void> {
    await db.updateTable('rounds').set(changes).where('id', '=', id).execute()
  },

  // Determines which process aggregates which round. The database gives each round to one process at a time, by its own clock,
  // because the processes' clocks may differ and jump.

  /** Claims one round that waits for its aggregation and has no unexpired lease. */
  async claim(db: Executor, owner: string): Promise<StoredRound | null> {
    const { rows } = await sql<Selectable<RoundRow>>`
      update rounds set lease_owner = ${owner}, lease_until = ${LEASE}, attempts = attempts + 1
      where id = (
        select id from rounds where status = 'aggregating' and (lease_until is null or lease_until < now())
        order by timeout_at, id limit 1 for update skip locked)
      returning *`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** True while the owner still holds the lease. */
  async renewLease(db: Executor, id: string, owner: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('rounds')
      .set({ lease_until: LEASE })
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .where('status', '=', 'aggregating')
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** The round, locked, if this owner still holds it; null if another process has taken over. */
  async lockHeld(db: Executor, id: string, owner: string): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .where('status', '=', 'aggregating')
      .forUpdate()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** `counts`: whether the attempt counts toward the limit after which the round fails. */
  async releaseLease(db: Executor, id: string, owner: string, { counts }: { readonly counts: boolean }): Promise<void> {
    await db
      .updateTable('rounds')
      .set(({ eb }) => ({ lease_owner: null, lease_until: PAUSE, attempts: eb('attempts', '-', counts ? 0 : 1) }))
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .execute()
  },

  /** For a database that only one process can open: processes that held a lease before this start are dead. */
  async clearLeases(db: Executor): Promise<void> {
    await db
      .updateTable('rounds')
      .set({ lease_owner: null, lease_until: null })
      .where('lease_owner', 'is not', null)
      .execute()
  },
}

const anyOf = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`

/** How one update compares with the others. */
export interface ScreenedUpdate {
  readonly update_id: string
  readonly norm: number
  readonly cosine: number | null
  readonly non_finite: number
}

/** Columns that change after a round's start; jsonb columns as JSON text. */
interface RoundChanges {
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
  accuracy: number | null
  loss: number | null
  screening: string
  metrics: string
  review_at: Date
}

export const alreadyInProgress = () =>
  conflict('A training round is already in progress. Wait until it ends before starting another.')
