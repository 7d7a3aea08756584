import { type RawBuilder, sql } from 'kysely'
import { REPORTED_REASON } from '../../domain/failure-reasons.ts'
import type { Executor } from '../../platform/db/open.ts'
import type { ModelUses } from '../catalog/models/round-results.service.ts'
import type { RowsOfDevice } from '../fleet/erasures/erasures.store.ts'

/** A device's rows in the tables of delivery. */
export const deliveryRowsOf: RowsOfDevice = ({ id, deviceId, orgId }) => ({
  deployment_targets: sql`from deployment_targets t where t.device_id = ${id}`,
  plan_reports: sql`from plan_reports t where t.device_id = ${id}`,
  experiment_observations: sql`from experiment_observations t where t.device_id = ${id}`,
  pairings: sql`from pairings t where t.device_id = ${deviceId} and t.org_id is not distinct from ${orgId}`,
})

/** Removes what devices wrote from the reasons of plans on which the device has reported: it may have written it. */
export const redactReasons = async (tx: Executor, deviceId: string): Promise<void> => {
  const own = sql`select plan_id from plan_reports where device_id = ${deviceId}`
  // Waits for plans whose reasons are being written. Separate statements, so that the next ones see what was written.
  await sql`select from rollouts where status = 'active' and id in (${own}) order by id for update`.execute(tx)
  await sql`select from deployments where status = 'started' and id in (${own}) order by id for update`.execute(tx)
  await redactPlanReasons(tx, own, '(erased)')
}

/** Replaces what devices wrote in the reasons of these plans with `instead`. */
export const redactPlanReasons = async (tx: Executor, plans: RawBuilder<unknown>, instead: string): Promise<void> => {
  const hasWords = sql`reason ~ ${REPORTED_REASON}`
  const cut = sql`regexp_replace(reason, ${REPORTED_REASON}, ${`\\1${instead}`})`
  await sql`update rollouts set reason = ${cut} where id in (${plans}) and ${hasWords}`.execute(tx)
  await sql`update deployments set reason = ${cut} where id in (${plans}) and ${hasWords}`.execute(tx)
  await sql`update plan_events set reason = ${cut} where plan_id in (${plans}) and ${hasWords}`.execute(tx)
  await sql`
    update delivery_decisions d set record = jsonb_set(d.record, '{reason}', to_jsonb(${cut}))
    from (select id, record ->> 'reason' as reason from delivery_decisions where rollout_id in (${plans})) found
    where d.id = found.id and ${hasWords}`.execute(tx)
}

/** Removes the device from the target counts of open deployments; returns these, because they may have waited for it. */
export const leaveDeployments = async (tx: Executor, deviceId: string): Promise<string[]> => {
  // A separate statement, so that the next one sees the targets that a previous holder of the locks has activated.
  await sql`
    select from deployments where id in (select deployment_id from deployment_targets where device_id = ${deviceId})
    order by id for update`.execute(tx)
  const { rows } = await sql<{ id: string }>`
    update deployments d set target_count = d.target_count - 1, activated_count = d.activated_count - t.activated::int
    from deployment_targets t where t.deployment_id = d.id and t.device_id = ${deviceId} and d.ended_at is null
    returning d.id`.execute(tx)
  return rows.map(({ id }) => id)
}

/** Returns the active rollouts that reach devices of this organization. */
export const activeRolloutsOf = async (tx: Executor, orgId: string | null): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from rollouts where status = 'active' and (org_id is null or org_id = ${orgId})`.execute(tx)
  return rows.map(({ id }) => id)
}

/** True if anything delivers versions of the model or has done so: its history names them. */
export const isDelivered: ModelUses = (modelId) => sql<boolean>`(
  exists (select from rollouts u where u.model_id = ${modelId})
  or exists (select from deployments u where u.model_id = ${modelId})
  or exists (select from experiment_variants u where u.model_id = ${modelId})
  or exists (select from delivery_policies u where u.model_id = ${modelId})
  or exists (select from pairings u where u.model_name = ${modelId}::text))`

/** Moves rows of delivery without an organization to this one, except experiments with a name that is taken there. */
export const adoptDelivery = async (tx: Executor, orgId: string): Promise<void> => {
  await sql`
    update experiments m set org_id = ${orgId} where m.org_id is null
      and not exists (select from experiments o where o.org_id = ${orgId} and o.name = m.name)`.execute(tx)
  await sql`update rollouts set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update deployments set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update delivery_policies set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update pairings set org_id = ${orgId} where org_id is null`.execute(tx)
}
