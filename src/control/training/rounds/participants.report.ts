import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundParticipantRow } from '../../../platform/db/training-rows.ts'
import { fromRow, type Participant } from './participants.store.ts'

interface ListedParticipant extends Participant {
  /** Internal id. */
  readonly deviceId: string
  /** User-chosen id. */
  readonly deviceName: string
  readonly orgId: string | null
  readonly selectedAt: Date
  readonly acknowledgedAt: Date | null
  readonly reportedAt: Date | null
}

/** The participants of a round. */
export const participantsReport = {
  /** An organization's devices in a round, as internal ids. */
  async devicesOf(db: Executor, roundId: string, orgId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select d.id from round_participants p join devices d on d.id = p.device_id
      where p.round_id = ${roundId} and d.org_id = ${orgId}`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Whether devices of other organizations were selected. */
  async hasOthers(db: Executor, roundId: string, orgId: string): Promise<boolean> {
    const { rows } = await sql`
      select from round_participants p join devices d on d.id = p.device_id
      where p.round_id = ${roundId} and d.org_id is distinct from ${orgId} limit 1`.execute(db)
    return rows.length > 0
  },

  /** A page of the round's participants, sorted by user-chosen id. */
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
}
