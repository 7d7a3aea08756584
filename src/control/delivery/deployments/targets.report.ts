import { sql } from 'kysely'
import type { ReportState } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { ofOrg } from './deployments.store.ts'

/** A possible target of a deployment. */
export interface Candidate {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly platform: string
  readonly isActive: boolean
}

export interface TargetDevice {
  readonly deviceId: string
  readonly activated: boolean
  readonly report: { readonly state: ReportState; readonly version: string; readonly reason: string | null } | null
  readonly reportedAt: Date | null
}

interface CandidateRow {
  id: string
  device_id: string
  org_id: string | null
  platform: string
  is_active: boolean
}

/** The possible and the actual target devices of deployments. */
export const targetsReport = {
  /** Finds devices by name in this organization, or in any if it is null. */
  async named(db: Executor, names: readonly string[], orgId: string | null, activeSince: Date): Promise<Candidate[]> {
    const { rows } = await sql<CandidateRow>`
      select id, device_id, org_id, platform, ${isActive(activeSince)} as is_active from devices
      where device_id = any(${[...names]}::text[]) and ${ofOrg(orgId)}`.execute(db)
    return rows.map(fromCandidate)
  },

  async inGroup(db: Executor, groupId: string, activeSince: Date): Promise<Candidate[]> {
    const { rows } = await sql<CandidateRow>`
      select id, device_id, org_id, platform, ${isActive(activeSince)} as is_active from devices
      where id in (select device_id from device_group_members where group_id = ${groupId})`.execute(db)
    return rows.map(fromCandidate)
  },

  async active(db: Executor, orgId: string | null, activeSince: Date): Promise<Candidate[]> {
    const { rows } = await sql<CandidateRow>`
      select id, device_id, org_id, platform, true as is_active from devices
      where ${isActive(activeSince)} and ${ofOrg(orgId)}`.execute(db)
    return rows.map(fromCandidate)
  },

  /** Returns all targets. */
  async devices(db: Executor, id: string): Promise<{ id: string; deviceId: string; orgId: string | null }[]> {
    const { rows } = await sql<{ id: string; device_id: string; org_id: string | null }>`
      select d.id, d.device_id, d.org_id from deployment_targets t join devices d on d.id = t.device_id
      where t.deployment_id = ${id}`.execute(db)
    return rows.map((row) => ({ id: row.id, deviceId: row.device_id, orgId: row.org_id }))
  },

  /** Returns the targets, sorted by name. */
  async list(
    db: Executor,
    id: string,
    page: { limit: number; offset: number },
  ): Promise<{ devices: TargetDevice[]; total: number }> {
    const { rows } = await sql<{
      device_id: string
      activated: boolean
      state: ReportState | null
      version: string | null
      reason: string | null
      reported_at: Date | null
    }>`
      select d.device_id, t.activated, r.state, r.version, r.reason, r.reported_at
      from deployment_targets t join devices d on d.id = t.device_id
      left join plan_reports r on r.plan_id = t.deployment_id and r.device_id = t.device_id
      where t.deployment_id = ${id} order by d.device_id, d.id limit ${page.limit} offset ${page.offset}`.execute(db)
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from deployment_targets where deployment_id = ${id}`.execute(db)
    return {
      total: totals[0]!.total,
      devices: rows.map((row) => ({
        deviceId: row.device_id,
        activated: row.activated,
        report: row.state === null ? null : { state: row.state, version: row.version!, reason: row.reason },
        reportedAt: row.reported_at,
      })),
    }
  },
}

const isActive = (since: Date) => sql<boolean>`(last_heartbeat >= ${since} and status = 'active')`

const fromCandidate = (row: CandidateRow): Candidate => ({
  id: row.id,
  deviceId: row.device_id,
  orgId: row.org_id,
  platform: row.platform,
  isActive: row.is_active,
})
