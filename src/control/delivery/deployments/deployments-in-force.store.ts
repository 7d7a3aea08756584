import { type Selectable, sql } from 'kysely'
import type { DeploymentRow } from '../../../platform/db/delivery-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { PlanSource } from '../assignments/delivery-plans.service.ts'
import { createActivatedDevices, type DeploymentInForce } from './activated-devices.ts'

const readActivated = async (db: Executor, ids: readonly string[]): Promise<Map<string, readonly string[]>> => {
  const { rows } = await sql<{ id: string; devices: string[] }>`
    select deployment_id as id, array_agg(device_id::text) as devices from deployment_targets
    where deployment_id = any(${[...ids]}::uuid[]) and activated group by deployment_id`.execute(db)
  return new Map(rows.map(({ id, devices }) => [id, devices]))
}

/** A `PlanSource`: deployments under way or completed, unless newer plans have replaced them on all devices. */
export const createDeploymentsInForce = (): PlanSource => {
  const activated = createActivatedDevices(readActivated)
  const load: PlanSource['load'] = async (db, { isUploadedAs, lastToAll }) => {
    const { rows } = await sql<RowInForce>`
      select d.id, d.org_id, d.model_id, d.model_name, d.model_version, d.version_number, d.status, d.strategy, d.percentage,
        d.target_count, d.activated_count, d.started_revision, d.switched_at is not null as has_switched,
        d.model_id is null or ${isUploadedAs(sql`d.model_id`, sql`d.model_version`)} as has_version
      from deployments d
      left join ${lastToAll} as l on l.model_id = d.model_id and l.org_id is not distinct from d.org_id
      where d.started_revision is not null and (d.status = 'started'
        or (d.status = 'completed' and d.started_revision >= coalesce(l.started_revision, 0)))`.execute(db)
    const devices = await activated(db, rows.map(inForce))
    return rows
      .filter(({ id, status }) => status === 'started' || devices.get(id)!.size > 0)
      .map((row) => ({
        id: row.id,
        kind: 'deployment',
        orgId: row.org_id,
        startedRevision: row.started_revision!,
        settled: row.status === 'completed',
        target: {
          modelId: row.model_id,
          modelName: row.model_name,
          version: row.model_version,
          versionNumber: row.version_number,
        },
        deviceIds: devices.get(row.id)!,
        activate: row.strategy !== 'blue_green' || row.has_switched,
      }))
  }
  return { load }
}

interface RowInForce
  extends Pick<
    Selectable<DeploymentRow>,
    | 'id'
    | 'org_id'
    | 'model_id'
    | 'model_name'
    | 'model_version'
    | 'version_number'
    | 'status'
    | 'strategy'
    | 'percentage'
    | 'target_count'
    | 'activated_count'
    | 'started_revision'
  > {
  readonly has_switched: boolean
  readonly has_version: boolean
}

const inForce = (row: RowInForce): DeploymentInForce => ({
  id: row.id,
  group: JSON.stringify([row.org_id, row.model_id ?? row.model_name, row.model_id === null]),
  startedRevision: row.started_revision!,
  percentage: row.percentage,
  targetCount: row.target_count,
  activatedCount: row.activated_count,
  settled: row.status === 'completed',
  replaces: row.status === 'completed' && row.has_version,
})
