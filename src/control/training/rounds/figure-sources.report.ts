import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** Which models figures describe: those that a round's devices trained, the one it distributed, or the one it made. */
export type FigureKind = 'trained' | 'received' | 'made'

/** How many devices of one organization reported figures of a round. */
export interface FigureSource {
  readonly roundId: string
  readonly kind: FigureKind
  readonly orgId: string | null
  /** Null: any figure of this kind. */
  readonly metric: string | null
  readonly devices: number
}

/** Evaluations of the model that the round distributed, as `evaluationsStore.broughtTo` reads them. */
const broughtTo = (round: RawBuilder<unknown>) => sql`(
  select device_id, evaluation from updates
    where round_id = ${round} and base_round_id is null and evaluation is not null
  union all
  select device_id, evaluation from updates where base_round_id = ${round} and evaluation is not null)`

/** Counts the devices behind the figures of rounds, by organization. */
export const figureSourcesReport = {
  /** Counts them for each metric too in rounds of which some devices omitted one. */
  async of(db: Executor, roundIds: readonly string[], incompleteIds: readonly string[]): Promise<FigureSource[]> {
    if (roundIds.length === 0) return []
    const { rows } = await sql<FigureSource>`
      with requested as not materialized (
        select id, org_id, job_id, aggregated_model_id from rounds where id = any(${[...roundIds]}::uuid[])),
      reported as not materialized (
        select r.id, 'trained' as kind, u.device_id, coalesce(u.metrics, '{}') || jsonb_strip_nulls(
            jsonb_build_object('loss', u.local_loss, 'accuracy', u.local_accuracy)) as metrics
          from requested r join updates u on u.round_id = r.id
        union all
        select r.id, 'received', u.device_id, u.evaluation -> 'metrics'
          from requested r cross join lateral ${broughtTo(sql`r.id`)} u
        union all
        select r.id, 'made', v.device_id, v.metrics
          from requested r join evaluations v on v.round_id = r.id where v.state = 'reported'
        union all
        -- Without these, the evaluation is the one that evaluationsStore.keep has chosen.
        select r.id, 'made', u.device_id, u.evaluation -> 'metrics' from requested r
          cross join lateral (
            select e.id from rounds e where e.global_model_id = r.aggregated_model_id
              and e.org_id is not distinct from r.org_id and e.job_id is not distinct from r.job_id
              and e.global_evaluation is not null
            order by e.completed_at limit case when r.job_id is null then 1 end) e
          cross join lateral ${broughtTo(sql`e.id`)} u
          where not exists (select from evaluations v where v.round_id = r.id and v.state = 'reported')
      ),
      named as (
        select id, kind, device_id, jsonb_object_keys(metrics) as metric from reported
        where id = any(${[...incompleteIds]}::uuid[])
      )
      select f.id as "roundId", f.kind, d.org_id as "orgId", f.metric, count(*)::int as devices
      from (select id, kind, device_id, null as metric from reported union all select * from named) f
      join devices d on d.id = f.device_id group by 1, 2, 3, 4`.execute(db)
    return rows
  },
}
