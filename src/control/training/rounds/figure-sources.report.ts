import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** Which models figures describe: those that a round's devices trained, the one it distributed, or the one it made. */
export type FigureKind = 'trained' | 'received' | 'made'

/** How many devices of one organization reported figures of a round. */
export interface FigureSource {
  readonly roundId: string
  readonly kind: FigureKind
  readonly orgId: string | null
  readonly devices: number
}

/** Counts the devices behind the figures of rounds, by organization. */
export const figureSourcesReport = {
  /** A device that evaluated a model in several rounds counts once for each. */
  async of(db: Executor, roundIds: readonly string[]): Promise<FigureSource[]> {
    if (roundIds.length === 0) return []
    const { rows } = await sql<FigureSource>`
      with asked as (select id, aggregated_model_id from rounds where id = any(${[...roundIds]}::uuid[])),
      reported as (
        select a.id, 'trained' as kind, u.device_id from asked a join updates u on u.round_id = a.id
        union all
        select a.id, 'received', u.device_id from asked a join updates u on u.round_id = a.id
          where u.base_round_id is null and u.evaluation is not null
        union all
        select a.id, 'received', u.device_id from asked a join updates u on u.base_round_id = a.id
          where u.evaluation is not null
        union all
        select a.id, 'made', u.device_id from asked a
          join rounds e on e.global_model_id = a.aggregated_model_id join updates u on u.round_id = e.id
          where u.evaluation is not null
        union all
        select a.id, 'made', v.device_id from asked a join evaluations v on v.round_id = a.id where v.state = 'reported'
      )
      select r.id as "roundId", r.kind, d.org_id as "orgId", count(*)::int as devices
      from reported r join devices d on d.id = r.device_id group by 1, 2, 3`.execute(db)
    return rows
  },
}
