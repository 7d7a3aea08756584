import { sql } from 'kysely'
import { isMeasuredLater, type RoundValue } from '../../../domain/job-metric.ts'
import { EVALUATION_PREFIX } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'

const meanOf = (metric: string) => {
  if (metric === 'loss' || metric === 'accuracy') return sql<number | null>`${sql.ref(metric)}`
  return isMeasuredLater(metric)
    ? sql<
        number | null
      >`(evaluation -> 'metrics' -> ${metric.slice(EVALUATION_PREFIX.length)}::text ->> 'mean')::float8`
    : sql<number | null>`(metrics -> ${metric}::text ->> 'mean')::float8`
}

/** What the completed rounds of jobs measured. */
export const createRoundValuesStore = () => ({
  /** Oldest first: the mean of a metric, `evaluation.x` of the models that the rounds made. */
  valuesOf: (db: Executor, jobId: string, metric: string): Promise<RoundValue[]> =>
    db
      .selectFrom('rounds')
      .select(['aggregated_model_id as modelId', meanOf(metric).as('value')])
      .where('job_id', '=', jobId)
      .where('status', '=', 'completed')
      .orderBy('round_number')
      .execute(),

  /** The names of the metrics that they have. */
  async metricsOf(db: Executor, jobId: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select distinct name from rounds r cross join lateral (
        select jsonb_object_keys(coalesce(r.metrics, '{}'::jsonb)) as name
        union all select 'evaluation.' || jsonb_object_keys(coalesce(r.evaluation -> 'metrics', '{}'::jsonb))
      ) as reported where r.job_id = ${jobId} and r.status = 'completed' order by name limit 64`.execute(db)
    return rows.map(({ name }) => name)
  },
})
