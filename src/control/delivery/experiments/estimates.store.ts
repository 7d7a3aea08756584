import { sql } from 'kysely'
import type { Moments } from '../../../domain/statistics/moments.ts'
import { latestTrusted, meanOf, squaredDeviationsOf } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** A running experiment and its last point, which is 0 before the first. */
interface OpenCurve {
  readonly experimentId: string
  readonly primaryMetric: string
  readonly startedAt: Date
  readonly point: number
  readonly addedAt: Date | null
}

/** What each variant (by index) had measured of the primary metric at one time. */
export interface EstimatesPoint {
  readonly at: Date
  readonly samples: ReadonlyMap<number, Moments>
}

export const estimatesStore = {
  async open(db: Executor): Promise<OpenCurve[]> {
    const { rows } = await sql<{ id: string; metric: string; started_at: Date; point: number; at: Date | null }>`
      select e.id, e.primary_metric as metric, e.started_at, coalesce(l.point, 0) as point, l.at
      from experiments e left join lateral (
        select point, at from experiment_estimates where experiment_id = e.id order by point desc limit 1
      ) l on true
      where e.status = 'running' and e.started_at is not null`.execute(db)
    return rows.map(({ id, metric, started_at, point, at }) => ({
      experimentId: id,
      primaryMetric: metric,
      startedAt: started_at,
      point,
      addedAt: at,
    }))
  },

  /** Adds the next point of a curve, unless nothing was measured since the last or another process has added it. */
  async add(db: Executor, { experimentId, primaryMetric, point, addedAt }: OpenCurve, at: Date): Promise<void> {
    await sql`
      insert into experiment_estimates (experiment_id, point, variant, at, devices, mean, m2)
      select experiment_id, ${point + 1}::int, variant, ${at}::timestamptz, count(*),
        ${meanOf(sql`mean`)}, ${squaredDeviationsOf(sql`mean`)}
      from experiment_observations
      where experiment_id = ${experimentId} and metric = ${primaryMetric} and exists (
        select from experiment_observations where experiment_id = ${experimentId} and metric = ${primaryMetric}
          and updated_at > coalesce(${addedAt}::timestamptz, '-infinity'))
      group by experiment_id, variant
      on conflict do nothing`.execute(db)
  },

  /** Has the points that were added while the clock was ahead end now: the next one would be due only after them. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    await sql`update experiment_estimates set at = ${now} where at > ${latestTrusted(now)}`.execute(db)
  },

  /** Returns at most `limit` points, evenly spaced, oldest first. */
  async list(db: Executor, experimentId: string, limit: number): Promise<EstimatesPoint[]> {
    const { rows } = await sql<{ point: number; variant: number; at: Date } & Moments>`
      select point, variant, at, devices as count, mean, m2 from experiment_estimates
      where experiment_id = ${experimentId} and point % (
        select 1 + coalesce(max(point), 0) / ${limit}::int from experiment_estimates where experiment_id = ${experimentId}
      ) = 0
      order by point, variant`.execute(db)
    const points = new Map<number, { at: Date; samples: Map<number, Moments> }>()
    for (const { point, variant, at, count, mean, m2 } of rows) {
      const found = points.get(point) ?? { at, samples: new Map() }
      points.set(point, found)
      found.samples.set(variant, { count, mean, m2 })
    }
    return [...points.values()]
  },
}
