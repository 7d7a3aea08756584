import { sql } from 'kysely'
import type { RowsOfDevice } from '../fleet/erasures/erasures.store.ts'

/** What delivery holds of a device. */
export const deliveryRowsOf: RowsOfDevice = ({ id, deviceId, orgId }) => ({
  deployment_targets: sql`from deployment_targets t where t.device_id = ${id}`,
  plan_reports: sql`from plan_reports t where t.device_id = ${id}`,
  experiment_observations: sql`from experiment_observations t where t.device_id = ${id}`,
  pairings: sql`from pairings t where t.device_id = ${deviceId} and t.org_id is not distinct from ${orgId}`,
})
