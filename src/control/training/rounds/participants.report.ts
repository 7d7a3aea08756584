import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundParticipantRow } from '../../../platform/db/rows.ts'
import { fromRow, type Participant } from './participants.store.ts'

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

/** Who takes part in a round, by the names of the devices. */
export const createParticipantsReport = () => ({
  /** The round's participants with the ids that users gave their devices, in the order of these; a page of them. */
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
    const { total } = await db
      .selectFrom('round_participants')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('round_id', '=', roundId)
      .executeTakeFirstOrThrow()
    return {
      participants: rows.map((row) => ({ ...listed(row), deviceName: row.device_name, orgId: row.org_id })),
      total,
    }
  },
})

const listed = (row: Selectable<RoundParticipantRow>): Omit<ListedParticipant, 'deviceName' | 'orgId'> => ({
  ...fromRow(row),
  deviceId: row.device_id,
  selectedAt: row.selected_at,
  acknowledgedAt: row.acknowledged_at,
  reportedAt: row.reported_at,
})

export type ParticipantsReport = ReturnType<typeof createParticipantsReport>
