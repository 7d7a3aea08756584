import { sql } from 'kysely'
import type { Reported } from '../../../domain/deployment.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** The devices that deployments are aimed at, and how many reported what. */
export const createTargetsStore = () => ({
  async insert(tx: Executor, id: string, targets: readonly { id: string; activated: boolean }[]): Promise<void> {
    await sql`
      insert into deployment_targets (deployment_id, device_id, activated)
      select ${id}, device_id, activated from unnest(
        ${targets.map((target) => target.id)}::uuid[], ${targets.map((target) => target.activated)}::boolean[]
      ) as t (device_id, activated)`.execute(tx)
  },

  async activate(tx: Executor, id: string, deviceIds: readonly string[]): Promise<void> {
    await sql`
      update deployment_targets set activated = true
      where deployment_id = ${id} and not activated and device_id = any(${deviceIds}::uuid[])`.execute(tx)
  },

  /** What the activated devices last reported of it. */
  async reported(db: Executor, id: string): Promise<Reported & { readonly counts: Readonly<Record<string, number>> }> {
    const { rows } = await sql<{ state: string | null; reason: string | null; devices: number }>`
      select r.state, case when r.state = 'failed' then r.reason end as reason, count(*) as devices
      from deployment_targets t left join plan_reports r on r.plan_id = t.deployment_id and r.device_id = t.device_id
      where t.deployment_id = ${id} and t.activated
      group by 1, 2 order by count(*) desc, 2`.execute(db)
    const counts: Record<string, number> = { assigned: 0, downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 }
    for (const { state, devices } of rows) counts[state ?? 'assigned'] = (counts[state ?? 'assigned'] ?? 0) + devices
    return {
      counts,
      activated: rows.reduce((sum, row) => sum + row.devices, 0),
      ready: counts.ready ?? 0,
      active: counts.active ?? 0,
      failed: counts.failed ?? 0,
      commonReason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
    }
  },
})

export type TargetsStore = ReturnType<typeof createTargetsStore>
