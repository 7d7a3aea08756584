import type { Selectable } from 'kysely'
import { DEFAULT_ORG } from '../../../domain/access.ts'
import type { OrgRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface StoredOrg {
  readonly id: string
  readonly name: string
  readonly compliance: 'hipaa' | 'gdpr' | 'pci' | 'soc2' | null
  readonly region: 'us' | 'eu' | 'ap'
  readonly createdAt: Date
}

export const orgsStore = {
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

  /** Returns up to five organizations whose data must be kept outside `region`. */
  async elsewhere(db: Executor, region: StoredOrg['region']): Promise<StoredOrg[]> {
    const query = db.selectFrom('orgs').selectAll().where('region', '!=', region).where('id', '!=', DEFAULT_ORG)
    return (await query.orderBy('id').limit(5).execute()).map(fromRow)
  },
}

const fromRow = (row: Selectable<OrgRow>): StoredOrg => ({
  id: row.id,
  name: row.name,
  compliance: row.compliance as StoredOrg['compliance'],
  region: row.region as StoredOrg['region'],
  createdAt: row.created_at,
})
