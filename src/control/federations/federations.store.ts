import { type Selectable, sql } from 'kysely'
import { conflict } from '../../domain/errors.ts'
import type { FederationRow } from '../../platform/db/federations-rows.ts'
import type { Executor } from '../../platform/db/open.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'

export interface StoredFederation {
  readonly id: string
  /** The owner. */
  readonly orgId: string
  readonly name: string
  readonly description: string
  readonly status: 'active'
  /** Active members, including the owner. */
  readonly memberCount: number
  readonly createdAt: Date
}

export type Role = 'owner' | 'member'
export type MemberStatus = 'invited' | 'active'

export interface Membership {
  readonly role: Role
  readonly status: MemberStatus
}

/** A federation with the requested organization's membership; null if it has none. */
export interface ListedFederation {
  readonly federation: StoredFederation
  readonly membership: Membership | null
}

type Row = Selectable<FederationRow> & { members: number; role: Role | null; member_status: MemberStatus | null }

/** Also reads the membership of `orgId`. */
const select = (orgId: string | null) => sql`
  select f.*, own.role, own.status as member_status,
    (select count(*) from federation_members m where m.federation_id = f.id and m.status = 'active') as members
  from federations f left join federation_members own on own.federation_id = f.id and own.org_id = ${orgId}::text`

export const federationsStore = {
  /** Inserts the federation with its owner as the first member. */
  async insert(tx: Executor, federation: StoredFederation): Promise<void> {
    const { id, orgId, name, description, status, createdAt } = federation
    await tx
      .insertInto('federations')
      .values({ id, org_id: orgId, name, description, status, created_at: createdAt })
      .execute()
      .catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw conflict(`Organization '${orgId}' already has a federation named '${name}'. Choose another name.`)
      })
    await tx
      .insertInto('federation_members')
      .values({
        federation_id: id,
        org_id: orgId,
        role: 'owner',
        status: 'active',
        invited_at: null,
        joined_at: createdAt,
      })
      .execute()
  },

  async find(db: Executor, id: string, orgId: string | null): Promise<ListedFederation | null> {
    const { rows } = await sql<Row>`${select(orgId)} where f.id = ${id}`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** Newest first. With an organization, only federations that it is a member of or invited to. */
  async list(
    db: Executor,
    filter: { readonly orgId: string | null; readonly name: string | undefined },
    page: { limit: number; offset: number },
  ): Promise<{ federations: ListedFederation[]; total: number }> {
    const requested = sql.join(
      [
        filter.orgId === null ? sql`true` : sql`own.role is not null`,
        filter.name === undefined ? sql`true` : sql`f.name = ${filter.name}`,
      ],
      sql` and `,
    )
    const { rows } = await sql<Row>`
      ${select(filter.orgId)} where ${requested} order by f.ordinal desc limit ${page.limit} offset ${page.offset}`.execute(
      db,
    )
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from (${select(filter.orgId)} where ${requested}) as found`.execute(db)
    return { federations: rows.map(fromRow), total: totals[0]!.total }
  },
}

const fromRow = (row: Row): ListedFederation => ({
  federation: {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    description: row.description,
    status: 'active',
    memberCount: row.members,
    createdAt: row.created_at,
  },
  membership: row.role === null ? null : { role: row.role, status: row.member_status! },
})
