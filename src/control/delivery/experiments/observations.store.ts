import { sql } from 'kysely'
import type { Moments } from '../../../domain/statistics/moments.ts'
import { meanOf, squaredDeviationsOf } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** What one device of one variant has measured of one metric since the last write. */
export interface Reading {
  readonly variant: number
  /** Internal id. */
  readonly deviceId: string
  readonly metric: string
  readonly values: Moments
}

/** Everything that a variant's devices measured of one metric. */
export interface MetricSample {
  readonly variant: number
  readonly metric: string
  readonly observations: number
  /** Moments of the devices' means. */
  readonly devices: Moments
}

export const observationsStore = {
  /** True if the experiment is running; keeps it running until the transaction ends. */
  async keepRunning(tx: Executor, experimentId: string): Promise<boolean> {
    const row = await tx
      .selectFrom('experiments')
      .select('status')
      .where('id', '=', experimentId)
      .forShare()
      .executeTakeFirst()
    return row?.status === 'running'
  },

  /** Adds readings, one for each device and metric. They are sorted, so that all writers lock in one order. */
  async add(tx: Executor, experimentId: string, readings: readonly Reading[], at: Date): Promise<void> {
    await sql`
      insert into experiment_observations as o (experiment_id, variant, device_id, metric, count, mean, updated_at)
      select ${experimentId}::uuid, variant, device_id, metric, count, mean, ${at}::timestamptz from unnest(
        ${readings.map((r) => r.variant)}::int[], ${readings.map((r) => r.deviceId)}::uuid[],
        ${readings.map((r) => r.metric)}::text[], ${readings.map((r) => r.values.count)}::bigint[],
        ${readings.map((r) => r.values.mean)}::float8[]
      ) as r (variant, device_id, metric, count, mean)
      on conflict (experiment_id, variant, device_id, metric) do update set
        count = o.count + excluded.count,
        mean = o.mean + (excluded.mean - o.mean) * excluded.count / (o.count + excluded.count),
        updated_at = excluded.updated_at`.execute(tx)
  },

  async samples(db: Executor, experimentId: string): Promise<MetricSample[]> {
    const { rows } = await sql<{
      variant: number
      metric: string
      observations: number
      count: number
      mean: number
      m2: number
    }>`
      select variant, metric, sum(count)::bigint as observations, count(*) as count,
        ${meanOf(sql`mean`)} as mean, ${squaredDeviationsOf(sql`mean`)} as m2
      from experiment_observations where experiment_id = ${experimentId}
      group by variant, metric order by variant, metric`.execute(db)
    return rows.map(({ variant, metric, observations, count, mean, m2 }) => ({
      variant,
      metric,
      observations,
      devices: { count, mean, m2 },
    }))
  },

  /** Counts the devices that reported any metric, by variant. */
  async devices(db: Executor, experimentId: string): Promise<Map<number, number>> {
    const { rows } = await sql<{ variant: number; devices: number }>`
      select variant, count(distinct device_id) as devices from experiment_observations
      where experiment_id = ${experimentId} group by variant`.execute(db)
    return new Map(rows.map(({ variant, devices }) => [variant, devices]))
  },
}
