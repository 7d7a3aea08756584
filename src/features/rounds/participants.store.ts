import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../db/open.ts'
import type { RoundParticipantRow, UpdateRow } from '../../db/rows.ts'
import { isUniqueViolation } from '../../db/violations.ts'

export type ParticipantState = 'selected' | 'delivered' | 'failed'

export interface Participant {
  readonly state: ParticipantState
  readonly chosen: 'drawn' | 'starter' | 'joined'
  readonly fetchedAt: Date | null
  readonly failureReason: string | null
}

export interface StoredUpdate {
  readonly id: string
  readonly roundId: string
  readonly deviceId: string
  /** Null once retention has deleted the file; `fileHash` stays. */
  readonly sha256: string | null
  readonly fileHash: string
  readonly size: number
  readonly numSamples: number
  readonly localLoss: number | null
  readonly localAccuracy: number | null
  readonly trainingTimeSeconds: number | null
  readonly createdAt: Date
}

/** Who takes part in a round, and what they delivered. */
export const createParticipantsStore = () => ({
  async insertAll(
    db: Executor,
    roundId: string,
    chosen: { readonly starter: string | null; readonly drawn: readonly string[] },
    now: Date,
  ): Promise<void> {
    await sql`
      insert into round_participants (round_id, device_id, state, chosen, selected_at)
      select ${roundId}, id, 'selected', case when id = ${chosen.starter}::uuid then 'starter' else 'drawn' end, ${now}
      from unnest(${[...(chosen.starter === null ? [] : [chosen.starter]), ...chosen.drawn]}::uuid[]) as c (id)
    `.execute(db)
  },

  /** Gives the device a free seat in an active round; false when there is none or it has or had one. */
  async join(db: Executor, roundId: string, deviceId: string, now: Date): Promise<boolean> {
    try {
      const { rows } = await sql`
        with seat as (
          update rounds set taking_part = taking_part + 1
          where id = ${roundId} and status = 'active' and taking_part < target_devices and timeout_at > ${now}
            and not exists (
              select 1 from round_participants p where p.round_id = ${roundId} and p.device_id = ${deviceId})
          returning id
        )
        insert into round_participants (round_id, device_id, state, chosen, selected_at)
        select id, ${deviceId}::uuid, 'selected', 'joined', ${now}::timestamptz from seat returning device_id`.execute(
        db,
      )
      return rows.length === 1
    } catch (error) {
      // Two heartbeats of one device at once: the other one took the seat, and this statement undid its own count.
      if (isUniqueViolation(error)) return true
      throw error
    }
  },

  async find(db: Executor, roundId: string, deviceId: string): Promise<Participant | null> {
    const row = await db
      .selectFrom('round_participants')
      .selectAll()
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Marks that the device fetched the round's model; true the first time. */
  async markFetched(db: Executor, roundId: string, deviceId: string, now: Date): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('round_participants')
      .set({ fetched_at: now })
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .where('fetched_at', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** Ends one device's part in a round. */
  async report(
    db: Executor,
    part: { roundId: string; deviceId: string; state: 'delivered' | 'failed'; reason: string | null },
    now: Date,
  ): Promise<void> {
    await db
      .updateTable('round_participants')
      .set({ state: part.state, failure_reason: part.reason, reported_at: now })
      .where('round_id', '=', part.roundId)
      .where('device_id', '=', part.deviceId)
      .execute()
  },

  /** Whoever has not delivered by now has failed; returns how many have failed in all. */
  async failTheRest(db: Executor, roundId: string, reason: string, now: Date): Promise<number> {
    await db
      .updateTable('round_participants')
      .set({ state: 'failed', failure_reason: reason, reported_at: now })
      .where('round_id', '=', roundId)
      .where('state', '=', 'selected')
      .execute()
    const { failed } = await db
      .selectFrom('round_participants')
      .select((eb) => eb.fn.countAll<number>().as('failed'))
      .where('round_id', '=', roundId)
      .where('state', '=', 'failed')
      .executeTakeFirstOrThrow()
    return failed
  },

  async insertUpdate(db: Executor, update: StoredUpdate): Promise<void> {
    await db
      .insertInto('updates')
      .values({
        id: update.id,
        round_id: update.roundId,
        device_id: update.deviceId,
        sha256: update.sha256,
        file_hash: update.fileHash,
        size: update.size,
        num_samples: update.numSamples,
        local_loss: update.localLoss,
        local_accuracy: update.localAccuracy,
        training_time_seconds: update.trainingTimeSeconds,
        created_at: update.createdAt,
      })
      .execute()
  },

  async findUpdate(db: Executor, roundId: string, deviceId: string): Promise<StoredUpdate | null> {
    const row = await db
      .selectFrom('updates')
      .selectAll()
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
    return row === undefined ? null : fromUpdateRow(row)
  },

  /** The round's updates with the user-chosen ids of their devices, which is the order they are added up in. */
  async updatesOf(db: Executor, roundId: string): Promise<{ update: StoredUpdate; deviceName: string }[]> {
    const rows = await db
      .selectFrom('updates')
      .innerJoin('devices', 'devices.id', 'updates.device_id')
      .selectAll('updates')
      .select('devices.device_id as device_name')
      .where('round_id', '=', roundId)
      .execute()
    return rows.map((row) => ({ update: fromUpdateRow(row), deviceName: row.device_name }))
  },

  /** Lets go of the files of a round's updates; the records and hashes stay. */
  async releaseUpdates(db: Executor, roundId: string): Promise<void> {
    await db.updateTable('updates').set({ sha256: null }).where('round_id', '=', roundId).execute()
  },
})

const fromRow = (row: Selectable<RoundParticipantRow>): Participant => ({
  state: row.state as ParticipantState,
  chosen: row.chosen as Participant['chosen'],
  fetchedAt: row.fetched_at,
  failureReason: row.failure_reason,
})

const fromUpdateRow = (row: Selectable<UpdateRow>): StoredUpdate => ({
  id: row.id,
  roundId: row.round_id,
  deviceId: row.device_id,
  sha256: row.sha256,
  fileHash: row.file_hash,
  size: row.size,
  numSamples: row.num_samples,
  localLoss: row.local_loss,
  localAccuracy: row.local_accuracy,
  trainingTimeSeconds: row.training_time_seconds,
  createdAt: row.created_at,
})

export type ParticipantsStore = ReturnType<typeof createParticipantsStore>
