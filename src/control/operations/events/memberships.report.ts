import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** Returns the federations in which each of these organizations is an active member. */
export const federationsOf = async (db: Executor, orgIds: readonly string[]): Promise<Map<string, string[]>> => {
  const rows = await db
    .selectFrom('federation_members')
    .select(['org_id', 'federation_id'])
    .where(sql<boolean>`org_id = any(${orgIds}::text[])`)
    .where('status', '=', 'active')
    .execute()
  const found = new Map<string, string[]>()
  for (const { org_id, federation_id } of rows) found.set(org_id, [...(found.get(org_id) ?? []), federation_id])
  return found
}
