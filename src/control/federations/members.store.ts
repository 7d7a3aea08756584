import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { MemberStatus, Membership, Role } from './federations.store.ts'

/** A member, and what its devices contributed to the federation's completed rounds. */
export interface Member extends Membership {
  readonly orgId: string
  readonly invitedAt: Date | null
  readonly joinedAt: Date | null
  readonly roundsContributed: number
  readonly totalSamples: number
  readonly avgAccuracy: number | null
  readonly avgLoss: number | null
  readonly lastContributionAt: Date | null
}

interface MemberRow {
  org_id: string
  role: Role
  status: MemberStatus
  invited_at: Date | null
  joined_at: Date | null
  rounds: number
  samples: number
  accuracy: number | null
  loss: number | null
  last_at: Date | null
}

export const createMembersStore = () => ({
  /** Who is a member or invited already stays what it is. Returns those that were new. */
  async invite(tx: Executor, federationId: string, orgIds: readonly string[], at: Date): Promise<Set<string>> {
    const { rows } = await sql<{ org_id: string }>`
      insert into federation_members (federation_id, org_id, role, status, invited_at)
      select ${federationId}::uuid, org_id, 'member', 'invited', ${at}::timestamptz
      from unnest(${[...orgIds].sort()}::text[]) as o (org_id)
      on conflict (federation_id, org_id) do nothing returning org_id`.execute(tx)
    return new Set(rows.map((row) => row.org_id))
  },

  /** Makes an invited organization an active member; with `uninvited` any other one too. False when it may not be. */
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

  /** False when it is no member; the owner is never removed. */
  async remove(tx: Executor, federationId: string, orgId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from federation_members
      where federation_id = ${federationId} and org_id = ${orgId} and role <> 'owner' returning org_id`.execute(tx)
    return rows.length === 1
  },

  async membership(db: Executor, federationId: string, orgId: string): Promise<Membership | null> {
    const row = await db
      .selectFrom('federation_members')
      .select(['role', 'status'])
      .where('federation_id', '=', federationId)
      .where('org_id', '=', orgId)
      .executeTakeFirst()
    return row === undefined ? null : { role: row.role as Role, status: row.status as MemberStatus }
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

  /** The owner first, then in the order in which they joined; accuracy and loss are weighted by samples. Private rounds are left out. */
  async list(
    db: Executor,
    federationId: string,
    page: { limit: number; offset: number },
  ): Promise<{ members: Member[]; total: number }> {
    const { rows } = await sql<MemberRow>`
      with contributed as (
        select d.org_id, count(distinct u.round_id) as rounds, least(sum(u.num_samples), ${Number.MAX_SAFE_INTEGER}) as samples,
          sum(u.local_accuracy * u.num_samples) / nullif(sum(u.num_samples) filter (where u.local_accuracy is not null), 0)
            as accuracy,
          sum(u.local_loss * u.num_samples) / nullif(sum(u.num_samples) filter (where u.local_loss is not null), 0) as loss,
          max(u.created_at) as last_at
        from rounds r join updates u on u.round_id = r.id join devices d on d.id = u.device_id
        where r.federation_id = ${federationId} and r.status = 'completed'
          -- Of private rounds before version 1.1 this has been shown.
          and coalesce(r.privacy->>'sampling', '') = ''
        group by d.org_id
      )
      select m.org_id, m.role, m.status, m.invited_at, m.joined_at, coalesce(c.rounds, 0) as rounds,
        coalesce(c.samples, 0) as samples, c.accuracy, c.loss, c.last_at
      from federation_members m left join contributed c on c.org_id = m.org_id
      where m.federation_id = ${federationId}
      order by m.role = 'owner' desc, m.joined_at nulls last, m.invited_at, m.org_id
      limit ${page.limit} offset ${page.offset}`.execute(db)
    const { total } = await db
      .selectFrom('federation_members')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('federation_id', '=', federationId)
      .executeTakeFirstOrThrow()
    return { members: rows.map(fromRow), total }
  },
})

const fromRow = (row: MemberRow): Member => ({
  orgId: row.org_id,
  role: row.role,
  status: row.status,
  invitedAt: row.invited_at,
  joinedAt: row.joined_at,
  roundsContributed: row.rounds,
  totalSamples: row.samples,
  avgAccuracy: row.accuracy,
  avgLoss: row.loss,
  lastContributionAt: row.last_at,
})

export type MembersStore = ReturnType<typeof createMembersStore>
