import { type RawBuilder, sql } from 'kysely'
import { MIN_GROUP_SIZE } from '../../../domain/disclosure.ts'
import { isMeasuredLater, type RoundValue } from '../../../domain/job-metric.ts'
import { EVALUATION_PREFIX } from '../../../domain/metrics.ts'
import type { NoisySteps } from '../../../domain/privacy/mechanism.ts'
import type { RoundStatus } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { MemberContribution } from '../../federations/members.service.ts'
import { fromRow, LISTED_ROUND_COLUMNS, ROUND_COLUMNS, type StoredRound } from './stored-round.store.ts'

const meanOf = (metric: string) => {
  if (metric === 'loss' || metric === 'accuracy') return sql<number | null>`${sql.ref(metric)}`
  return isMeasuredLater(metric)
    ? sql<
        number | null
      >`(evaluation -> 'metrics' -> ${metric.slice(EVALUATION_PREFIX.length)}::text ->> 'mean')::float8`
    : sql<number | null>`(metrics -> ${metric}::text ->> 'mean')::float8`
}

/** Rows of the organization and of the federations that it is an active member of; all rows for an unbound key. */
export const visibleTo = (orgId: string | null) =>
  orgId === null
    ? sql<boolean>`true`
    : sql<boolean>`(coalesce(org_id, '') = ${orgId} or federation_id in (
        select m.federation_id from federation_members m where m.org_id = ${orgId} and m.status = 'active'))`

/** Rounds as jobs, federations, devices, and the catalog need them. */
export const roundsReport = {
  /** The completed round that made this model. */
  async thatMade(db: Executor, modelId: string): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('aggregated_model_id', '=', modelId)
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The organization's newest model that a round of this federation made. */
  async latestModelIn(db: Executor, federationId: string, orgId: string | null): Promise<string | null> {
    const { rows } = await sql<{ id: string }>`
      select m.id from models m join rounds r on r.id = m.round_id
      where r.federation_id = ${federationId} and m.org_id = ${orgId} and m.version_count > 0
      order by m.created_at desc, m.ordinal desc limit 1`.execute(db)
    return rows[0]?.id ?? null
  },

  /** Rounds visible to the organization, newest first; with `status`, only those with this status. */
  async list(
    db: Executor,
    orgId: string | null,
    status: RoundStatus | undefined,
    page: { limit: number; offset: number },
  ): Promise<{ rounds: StoredRound[]; total: number }> {
    const wanted = sql<boolean>`${visibleTo(orgId)} and ${status === undefined ? sql`true` : sql`status = ${status}`}`
    const rows = await db
      .selectFrom('rounds')
      .select(LISTED_ROUND_COLUMNS)
      .where(wanted)
      .orderBy('created_at', 'desc')
      .orderBy('round_number', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await db
      .selectFrom('rounds')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(wanted)
      .executeTakeFirstOrThrow()
    return { rounds: rows.map(fromRow), total }
  },

  /** A job's rounds, newest first. */
  async ofJob(db: Executor, jobId: string, page: { limit: number; offset: number }): Promise<StoredRound[]> {
    const rows = await db
      .selectFrom('rounds')
      .select(LISTED_ROUND_COLUMNS)
      .where('job_id', '=', jobId)
      .orderBy('round_number', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    return rows.map(fromRow)
  },

  /** The completed rounds of a job, oldest first. */
  async completedOf(db: Executor, jobId: string): Promise<StoredRound[]> {
    const rows = await db
      .selectFrom('rounds')
      .select(LISTED_ROUND_COLUMNS)
      .where('job_id', '=', jobId)
      .where('status', '=', 'completed')
      .orderBy('round_number')
      .execute()
    return rows.map(fromRow)
  },

  async countOfJob(db: Executor, jobId: string): Promise<number> {
    const { count } = await db
      .selectFrom('rounds')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('job_id', '=', jobId)
      .executeTakeFirstOrThrow()
    return count
  },

  /** The noisy steps of a job's rounds, however they ended, with equal steps combined. */
  async noisySteps(db: Executor, jobId: string, upTo: number | null = null): Promise<NoisySteps[]> {
    const { rows } = await sql<{ noise_multiplier: number; sample_rate: number; steps: number }>`
      select (privacy->>'noiseMultiplier')::float8 as noise_multiplier, (privacy->>'sampleRate')::float8 as sample_rate,
        count(*)::int as steps
      from rounds where job_id = ${jobId} and privacy is not null and (${upTo}::int is null or round_number <= ${upTo}::int)
      group by 1, 2 order by 1, 2`.execute(db)
    return rows.map((row) => ({
      noiseMultiplier: row.noise_multiplier,
      sampleRate: row.sample_rate,
      steps: row.steps,
    }))
  },

  /** Size of a file that a round refers to. */
  async sizeOf(db: Executor, sha256: string): Promise<number> {
    const row = await db.selectFrom('blobs').select('size').where('sha256', '=', sha256).executeTakeFirstOrThrow()
    return row.size
  },

  /** A metric's mean for each completed round, oldest first; for `evaluation.x`, of the model that the round made. */
  valuesOf: (db: Executor, jobId: string, metric: string): Promise<RoundValue[]> =>
    db
      .selectFrom('rounds')
      .select(['aggregated_model_id as modelId', meanOf(metric).as('value')])
      .where('job_id', '=', jobId)
      .where('status', '=', 'completed')
      .orderBy('round_number')
      .execute(),

  /** The names of the metrics that a job's completed rounds have. */
  async metricsOf(db: Executor, jobId: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select distinct name from rounds r cross join lateral (
        select jsonb_object_keys(coalesce(r.metrics, '{}'::jsonb)) as name
        union all select 'evaluation.' || jsonb_object_keys(coalesce(r.evaluation -> 'metrics', '{}'::jsonb))
      ) as reported where r.job_id = ${jobId} and r.status = 'completed' order by name limit 64`.execute(db)
    return rows.map(({ name }) => name)
  },

  /** The rounds of a federation that are in progress or whose model is being evaluated. */
  async openOf(db: Executor, federationId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from rounds where federation_id = ${federationId}
        and (status in ('pending', 'active', 'aggregating') or evaluation_until is not null)`.execute(db)
    return rows.map((row) => row.id)
  },

  /** Rounds with an evaluation to be ended: its deadline has passed, or none of the devices that it waits for is active. */
  async evaluationsDue(db: Executor, now: Date): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select r.id from rounds r where r.evaluation_until is not null and (r.evaluation_until <= ${now} or not exists (
        select from evaluations e join devices d on d.id = e.device_id
        where e.round_id = r.id and e.state = 'asked' and d.status = 'active'))`.execute(db)
    return rows.map((row) => row.id)
  },
}

interface ContributionRow {
  org_id: string
  rounds: number
  samples: number
  accuracy: number | null
  loss: number | null
  visible_accuracy: number | null
  visible_loss: number | null
  last_at: Date
}

/** The mean of a column over the updates that meet the condition, weighted by samples. */
const weighted = (column: string, condition: RawBuilder<unknown> = sql`true`) => sql`
  sum(${sql.ref(column)} * num_samples) filter (where ${condition})
    / nullif(sum(num_samples) filter (where ${sql.ref(column)} is not null and ${condition}), 0)`

/**
 * What each organization's devices contributed to the federation's completed rounds. Excludes private rounds. What is shown to
 * other members comes from rounds in which at least the minimum number of its devices reported it (docs/decisions/0164) and
 * none was erased since: the averages before and after would differ by one device.
 */
export const contributionsTo = async (db: Executor, federationId: string): Promise<Map<string, MemberContribution>> => {
  const { rows } = await sql<ContributionRow>`
    with delivered as (
      select d.org_id, u.round_id, u.num_samples, u.local_accuracy, u.local_loss, u.created_at,
        count(u.local_accuracy) over same as accuracies, count(u.local_loss) over same as losses,
        count(*) over (partition by u.round_id) = r.completed_devices as is_whole,
        greatest(${MIN_GROUP_SIZE}, coalesce(s.min_group_size, 0)) as min_group_size
      from rounds r join updates u on u.round_id = r.id join devices d on d.id = u.device_id
      left join org_settings s on s.org_id = d.org_id
      where r.federation_id = ${federationId} and r.status = 'completed' and d.org_id is not null
        -- Private rounds before version 1.1 were included.
        and coalesce(r.privacy->>'sampling', '') = ''
      window same as (partition by d.org_id, u.round_id)
    )
    select org_id, count(distinct round_id) as rounds, least(sum(num_samples), ${Number.MAX_SAFE_INTEGER}) as samples,
      ${weighted('local_accuracy')} as accuracy, ${weighted('local_loss')} as loss,
      ${weighted('local_accuracy', sql`accuracies >= min_group_size and is_whole`)} as visible_accuracy,
      ${weighted('local_loss', sql`losses >= min_group_size and is_whole`)} as visible_loss, max(created_at) as last_at
    from delivered group by org_id`.execute(db)
  return new Map(
    rows.map((row) => [
      row.org_id,
      {
        roundsContributed: row.rounds,
        totalSamples: row.samples,
        avgAccuracy: row.accuracy,
        avgLoss: row.loss,
        visibleAccuracy: row.visible_accuracy,
        visibleLoss: row.visible_loss,
        lastContributionAt: row.last_at,
      },
    ]),
  )
}
