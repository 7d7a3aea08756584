import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { VersionUse, VersionUses } from '../catalog/models/lineage.service.ts'

const SHOWN = 100

/** Whether devices get a version from a plan in its state. */
const GIVES = {
  rollout: sql`status in ('active', 'paused', 'completed')`,
  deployment: sql`status in ('started', 'completed')`,
  experiment: sql`e.status = 'running'`,
}

/** Returns where this version runs. Plans from before its upload or of earlier releases name it by one of these texts. */
export const usesOf = async (
  db: Executor,
  modelId: string,
  { number, texts }: { readonly number: number; readonly texts: readonly string[] },
): Promise<VersionUses> => {
  const references = sql`any(${[...texts]}::text[])`
  const isReference = (text: string, of: string) =>
    sql<boolean>`case when ${sql.ref(of)} is null then ${sql.ref(text)} = ${references} else ${sql.ref(of)} = ${number} end`
  const { rows } = await sql<Omit<VersionUse, 'createdAt'> & { created_at: Date }>`
    with uses as (
      select 'rollout' as kind, id, null as name, status, percentage, created_at, ${GIVES.rollout} as gives
      from rollouts where model_id = ${modelId} and ${isReference('version', 'version_number')}
      union all
      select 'deployment', id, null, status, percentage, created_at, ${GIVES.deployment}
      from deployments where model_id = ${modelId} and ${isReference('model_version', 'version_number')}
      union all
      select 'experiment', e.id, e.name, e.status, v.allocation * 100, e.created_at, ${GIVES.experiment}
      from experiments e join experiment_variants v on v.experiment_id = e.id
      where v.model_id = ${modelId} and ${isReference('v.version', 'v.version_number')}
      -- Many drafts do not hide the plan that devices get.
      order by gives desc, created_at desc, id limit ${SHOWN}
    )
    select kind, id, name, status, percentage, created_at from uses order by created_at desc, id`.execute(db)
  // Omits devices that have activated another version since. Of a rolled-back or stopped plan, all but failures count as withdrawn.
  const { rows: states } = await sql<{ state: string; devices: number }>`
    with plans as (
      select id, version_number, ${GIVES.rollout} as gives from rollouts where model_id = ${modelId}
      union select id, version_number, ${GIVES.deployment} from deployments where model_id = ${modelId}
      -- Each variant has a version of its own.
      union select e.id, null, ${GIVES.experiment} from experiments e join experiment_variants v on v.experiment_id = e.id
        where v.model_id = ${modelId}
    ), reports as (
      select p.device_id, p.state, ${isReference('p.version', 'plans.version_number')} as is_own, p.reported_at, plans.gives
      from plan_reports p join plans on plans.id = p.plan_id
    ), latest as (
      select distinct on (device_id) device_id, state, reported_at, gives from reports where is_own
      order by device_id, reported_at desc
    )
    select case when l.state <> 'failed' and not l.gives then 'withdrawn' else l.state end as state, count(*)::int as devices
    from latest l
    -- Only this form is an anti-join: 'not (… and exists (…))' scans all reports for each device.
    where not exists (
      select from reports r where l.state = 'active' and r.device_id = l.device_id and not r.is_own and r.state = 'active'
        and r.reported_at > l.reported_at)
    group by 1 order by 1`.execute(db)
  return {
    devices: Object.fromEntries(states.map(({ state, devices }) => [state, devices])),
    uses: rows.map(({ created_at, ...use }) => ({ ...use, createdAt: created_at })),
  }
}
