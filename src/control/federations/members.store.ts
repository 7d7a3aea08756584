import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { MemberStatus, Membership, Role } from './federations.store.ts'

export interface JoinedMember extends Membership {
  readonly orgId: string
  readonly invitedAt: Date | null
  readonly joinedAt: Date | null
}

interface MemberRow {
  org_id: string
  role: Role
  status: MemberStatus
  invited_at: Date | null
  joined_at: Date | null
}

/** In federations with more members, the remaining ones see a change with their next request. */
const MAX_NOTIFIED = 100

export const membersStore = {
  /** Leaves members and invited organizations unchanged; returns the newly invited ones. */
  async invite(tx: Executor, federationId: string, orgIds: readonly string[], at: Date): Promise<Set<string>> {
    const { rows } = await sql<{ org_id: string }>`
      insert into federation_members (federation_id, org_id, role, status, invited_at)
      select ${federationId}::uuid, org_id, 'member', 'invited', ${at}::timestamptz
      from unnest(${[...orgIds].sort()}::text[]) as o (org_id)
      on conflict (federation_id, org_id) do nothing returning org_id`.execute(tx)
    return new Set(rows.map((row) => row.org_id))
  },

  /** Makes an invited organization an active member; with `uninvited`, any other one too. False if it was not invited. */
  async join(
    tx: Executor,
    federationId: string,
    orgId: string,
    { uninvited, at }: { readonly uninvited: boolean; readonly at: Date },
  ): Promise<boolean> {
    if (uninvited) {
      await sql`
        insert into federation_members (federation_id, org_id, role, status)
        values (${federationId}, ${orgId}, 'member', 'invited') on conflict (federation_id, org_id) do nothing`.execute(
        tx,
      )
    }
    const { rows } = await sql`
      update federation_members set status = 'active', joined_at = coalesce(joined_at, ${at}::timestamptz)
      where federation_id = ${federationId} and org_id = ${orgId} returning org_id`.execute(tx)
    return rows.length === 1
  },

  /** False if the organization is not a member or is the owner, which is never removed. */
  async remove(tx: Executor, federationId: string, orgId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from federation_members
      where federation_id = ${federationId} and org_id = ${orgId} and role <> 'owner' returning org_id`.execute(tx)
    return rows.length === 1
  },

  /** Active and invited members, all of which see the federation; at most MAX_NOTIFIED. */
  async orgs(db: Executor, federationId: string): Promise<string[]> {
    const rows = await db
      .selectFrom('federation_members')
      .select('org_id')
      .where('federation_id', '=', federationId)
      .orderBy('org_id')
      .limit(MAX_NOTIFIED)
      .execute()
    return rows.map((row) => row.org_id)
  },

  async activeOrgs(db: Executor, federationId: string): Promise<string[]> {
    const rows = await db
      .selectFrom('federation_members')
      .select('org_id')
      .where('federation_id', '=', federationId)
      .where('status', '=', 'active')
      .orderBy('org_id')
      .execute()
    return rows.map((row) => row.org_id)
  },

  /** The owner first, then in the order of joining; invited organizations last. */
  async list(
    db: Executor,
    federationId: string,
    page: { limit: number; offset: number },
  ): Promise<{ members: JoinedMember[]; total: number }> {
    const { rows } = await sql<MemberRow>`
      select org_id, role, status, invited_at, joined_at from federation_members where federation_id = ${federationId}
      order by role = 'owner' desc, joined_at nulls last, invited_at, org_id
      limit ${page.limit} offset ${page.offset}`.execute(db)
    const { total } = await db
      .selectFrom('federation_members')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('federation_id', '=', federationId)
      .executeTakeFirstOrThrow()
    return { members: rows.map(fromRow), total }
  },
}

const fromRow = (row: MemberRow): JoinedMember => ({
  orgId: row.org_id,
  role: row.role,
  status: row.status,
  invitedAt: row.invited_at,
  joinedAt: row.joined_at,
})
