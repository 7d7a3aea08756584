import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'

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
