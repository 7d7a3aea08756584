import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { ModelUses } from '../catalog/models/round-models.service.ts'
import type { RowsOfDevice } from '../fleet/erasures/erasures.store.ts'

/** What delivery holds of a device. */
export const deliveryRowsOf: RowsOfDevice = ({ id, deviceId, orgId }) => ({
  deployment_targets: sql`from deployment_targets t where t.device_id = ${id}`,
  plan_reports: sql`from plan_reports t where t.device_id = ${id}`,
  experiment_observations: sql`from experiment_observations t where t.device_id = ${id}`,
  pairings: sql`from pairings t where t.device_id = ${deviceId} and t.org_id is not distinct from ${orgId}`,
})

/** Deployments have a target less; returns those that may have waited for it. */
export const leaveDeployments = async (tx: Executor, deviceId: string): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    update deployments d set target_count = d.target_count - 1, activated_count = d.activated_count - t.activated::int
    from deployment_targets t where t.deployment_id = d.id and t.device_id = ${deviceId} and d.ended_at is null
    returning d.id`.execute(tx)
  return rows.map(({ id }) => id)
}

/** Whatever brings versions of the model to devices, or has: its history names them. */
export const isDelivered: ModelUses = (modelId) => sql<boolean>`(
  exists (select from rollouts u where u.model_id = ${modelId})
  or exists (select from deployments u where u.model_id = ${modelId})
  or exists (select from experiment_variants u where u.model_id = ${modelId})
  or exists (select from delivery_policies u where u.model_id = ${modelId})
  or exists (select from pairings u where u.model_name = ${modelId}::text))`

/**
 * What brings versions to devices and belongs to no organization becomes the organization's; an experiment whose name is
 * taken there stays as it is.
 */
export const adoptDelivery = async (tx: Executor, orgId: string): Promise<void> => {
  await sql`
    update experiments m set org_id = ${orgId} where m.org_id is null
      and not exists (select from experiments o where o.org_id = ${orgId} and o.name = m.name)`.execute(tx)
  await sql`update rollouts set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update deployments set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update delivery_policies set org_id = ${orgId} where org_id is null`.execute(tx)
  await sql`update pairings set org_id = ${orgId} where org_id is null`.execute(tx)
}
