import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { OrgRow } from '../../../platform/db/rows.ts'

export interface StoredOrg {
  readonly id: string
  readonly name: string
  readonly compliance: 'hipaa' | 'gdpr' | 'pci' | 'soc2' | null
  readonly region: 'us' | 'eu' | 'ap'
  readonly createdAt: Date
}

export const createOrgsStore = () => ({
  async insert(db: Executor, org: StoredOrg): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('orgs')
      .values({
        id: org.id,
        name: org.name,
        compliance: org.compliance,
        region: org.region,
        created_at: org.createdAt,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  },

  async find(db: Executor, id: string): Promise<StoredOrg | null> {
    const row = await db.selectFrom('orgs').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /**
   * Hands everything that belongs to no organization to `orgId`: devices with their keys, and what they train and run.
   * A model or experiment whose name is taken there, and a round while another is in progress there, stay as they are.
   */
  async adoptUnbound(tx: Executor, orgId: string): Promise<void> {
    await sql`
      with moved as (update devices set org_id = ${orgId} where org_id is null returning id),
      uncounted as (update device_counts set devices = 0 where org_id = '')
      insert into device_counts as c (org_id, devices) select ${orgId}, count(*) from moved having count(*) > 0
      on conflict (org_id) do update set devices = c.devices + excluded.devices`.execute(tx)
    await sql`update keys set org_id = ${orgId} where org_id is null and device_id is not null`.execute(tx)
    await sql`
      update rounds r set org_id = ${orgId}, round_number = r.round_number + (
        select coalesce(max(o.round_number), 0) from rounds o where o.org_id = ${orgId})
      where r.org_id is null and not (r.status in ('pending', 'active', 'aggregating') and exists (
        select from rounds o where o.org_id = ${orgId} and o.status in ('pending', 'active', 'aggregating')))`.execute(
      tx,
    )
    for (const named of ['models', 'experiments'] as const) {
      await sql`
        update ${sql.table(named)} m set org_id = ${orgId} where m.org_id is null and not exists (
          select from ${sql.table(named)} o where o.org_id = ${orgId} and o.name = m.name)`.execute(tx)
    }
    for (const table of ['training_jobs', 'rollouts', 'deployments', 'delivery_policies', 'pairings'] as const) {
      await sql`update ${sql.table(table)} set org_id = ${orgId} where org_id is null`.execute(tx)
    }
  },
})

const fromRow = (row: Selectable<OrgRow>): StoredOrg => ({
  id: row.id,
  name: row.name,
  compliance: row.compliance as StoredOrg['compliance'],
  region: row.region as StoredOrg['region'],
  createdAt: row.created_at,
})

export type OrgsStore = ReturnType<typeof createOrgsStore>
