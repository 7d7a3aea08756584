import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { SecureRoundRow } from '../../../platform/db/training-rows.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import type { KeysMessage, SharesMessage, UnmaskMessage } from '../../../secure-aggregation/messages.ts'
import type { SecureRound, SecureStatus } from '../../../secure-aggregation/server-round.ts'
import type { SecureSettings } from '../../../secure-aggregation/settings.ts'

/** A device's message in each step. For its masked update only the fact is stored: the round stores the update itself. */
export interface Messages {
  readonly keys: KeysMessage
  readonly shares: SharesMessage
  readonly masked: Readonly<Record<string, never>>
  readonly unmask: UnmaskMessage
}
export type Step = keyof Messages

export interface StoredSecureRound extends SecureRound {
  /** Length of a masked update. */
  readonly words: number
  readonly deadlineAt: Date
}

/** Secure rounds and their messages; devices are identified by internal ids. */
export const secureRoundsStore = {
  async insert(db: Executor, round: StoredSecureRound): Promise<void> {
    await db
      .insertInto('secure_rounds')
      .values({
        round_id: round.roundId,
        status: round.status,
        settings: JSON.stringify({ ...round.settings, words: round.words }),
        cohort: cohortOf(round),
        deadline_at: round.deadlineAt,
        reason: round.reason,
      })
      .execute()
  },

  async find(db: Executor, roundId: string): Promise<StoredSecureRound | null> {
    const row = await db.selectFrom('secure_rounds').selectAll().where('round_id', '=', roundId).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The same, locked until the transaction ends. Lock the round itself first. */
  async lock(db: Executor, roundId: string): Promise<StoredSecureRound | null> {
    const row = await db
      .selectFrom('secure_rounds')
      .selectAll()
      .where('round_id', '=', roundId)
      .forUpdate()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async update(db: Executor, round: StoredSecureRound): Promise<void> {
    await db
      .updateTable('secure_rounds')
      .set({ status: round.status, cohort: cohortOf(round), deadline_at: round.deadlineAt, reason: round.reason })
      .where('round_id', '=', round.roundId)
      .execute()
  },

  /** Rounds that are still in progress. */
  async open(db: Executor): Promise<string[]> {
    const rows = await db
      .selectFrom('secure_rounds')
      .select('round_id')
      .where('status', 'not in', ['done', 'failed'])
      .execute()
    return rows.map((row) => row.round_id)
  },

  /** @throws conflict if the device has already sent a message for this step */
  async insertMessage<S extends Step>(
    db: Executor,
    response: { readonly roundId: string; readonly deviceId: string; readonly step: S; readonly message: Messages[S] },
    now: Date,
  ): Promise<void> {
    try {
      await db
        .insertInto('secure_messages')
        .values({
          round_id: response.roundId,
          device_id: response.deviceId,
          step: response.step,
          message: JSON.stringify(response.message),
          received_at: now,
        })
        .execute()
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw conflict('This device has already sent a message for this step; the first one counts.')
    }
  },

  /** The messages of a step, by internal device id. */
  async messages<S extends Step>(db: Executor, roundId: string, step: S): Promise<Record<string, Messages[S]>> {
    const rows = await db
      .selectFrom('secure_messages')
      .select(['device_id', 'message'])
      .where('round_id', '=', roundId)
      .where('step', '=', step)
      .execute()
    return Object.fromEntries(rows.map((row) => [row.device_id, row.message as unknown as Messages[S]]))
  },

  /** The shares messages without the shares, which are large. */
  async seedCommitments(db: Executor, roundId: string): Promise<Record<string, Pick<SharesMessage, 'seedCommitment'>>> {
    const rows = await db
      .selectFrom('secure_messages')
      .select(['device_id', sql<string>`message->>'seedCommitment'`.as('commitment')])
      .where('round_id', '=', roundId)
      .where('step', '=', 'shares')
      .execute()
    return Object.fromEntries(rows.map((row) => [row.device_id, { seedCommitment: row.commitment }]))
  },

  async answered(db: Executor, roundId: string, step: Step): Promise<Set<string>> {
    const rows = await db
      .selectFrom('secure_messages')
      .select('device_id')
      .where('round_id', '=', roundId)
      .where('step', '=', step)
      .execute()
    return new Set(rows.map((row) => row.device_id))
  },

  /** Deletes the messages of rounds whose masked updates have been deleted. */
  async forgetRetired(db: Executor): Promise<void> {
    await db
      .deleteFrom('secure_messages')
      .where('round_id', 'in', (eb) => eb.selectFrom('rounds').select('id').where('updates_deleted_at', 'is not', null))
      .execute()
  },

  /** True if the device is a participant and has not failed. */
  async takesPart(db: Executor, roundId: string, deviceId: string): Promise<boolean> {
    const row = await db
      .selectFrom('round_participants')
      .select('state')
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
    return row !== undefined && row.state !== 'failed'
  },

  /** Participants that have failed. */
  async failed(db: Executor, roundId: string): Promise<Set<string>> {
    const rows = await db
      .selectFrom('round_participants')
      .select('device_id')
      .where('round_id', '=', roundId)
      .where('state', '=', 'failed')
      .execute()
    return new Set(rows.map((row) => row.device_id))
  },
}

const cohortOf = ({ cohort, dealt, delivered }: SecureRound): string => JSON.stringify({ cohort, dealt, delivered })

const fromRow = (row: Selectable<SecureRoundRow>): StoredSecureRound => {
  const { words, ...settings } = row.settings as unknown as SecureSettings & { words: number }
  const cohort = row.cohort as unknown as Pick<SecureRound, 'cohort' | 'dealt' | 'delivered'>
  return {
    roundId: row.round_id,
    settings,
    words,
    status: row.status as SecureStatus,
    ...cohort,
    deadlineAt: row.deadline_at,
    reason: row.reason,
  }
}
