import type { Executor } from '../../../platform/db/open.ts'

/** Returns the federations in which the organization is an active member. */
export const federationsOf = async (db: Executor, orgId: string | null): Promise<string[]> => {
  if (orgId === null) return []
  const rows = await db
    .selectFrom('federation_members')
    .select('federation_id')
    .where('org_id', '=', orgId)
    .where('status', '=', 'active')
    .execute()
  return rows.map(({ federation_id }) => federation_id)
}
