import { type Selectable, sql } from 'kysely'
import type { Caller } from '../../../domain/access.ts'
import type { ApprovalKind, ApprovalStatus } from '../../../domain/approval.ts'
import type { ApprovalRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface Approval {
  readonly id: string
  readonly orgId: string
  readonly kind: ApprovalKind
  /** What it changes: only one request of a kind can wait for each. */
  readonly subject: string
  /** What would be done, as a sentence. */
  readonly title: string
  /** The data for doing it; only the handler of its kind knows the format. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly requester: Caller
  /** The people behind the requester. */
  readonly people: readonly string[]
  readonly status: ApprovalStatus
  readonly requestedAt: Date
  readonly expiresAt: Date
  readonly decidedAt: Date | null
  /** A person or key; null for the service. */
  readonly decidedBy: string | null
  readonly reason: string | null
}

/** With the names of the requester and of who decided, while they are stored. */
export interface ApprovalView extends Approval {
  readonly requestedByName: string | null
  readonly decidedByName: string | null
}

type Decision = Required<Pick<Approval, 'status' | 'decidedAt' | 'decidedBy' | 'reason'>>

/** The name of a person or key. */
const nameOf = (id: ReturnType<typeof sql>) => sql<string | null>`coalesce(
  (select coalesce(name, email) from people where people.id = (${id})::uuid and removed_at is null),
  (select name from keys where keys.id = (${id})::uuid))`

const shown = (db: Executor) =>
  db
    .selectFrom('approvals')
    .selectAll()
    .select(nameOf(sql`coalesce(requester ->> 'personId', requester ->> 'keyId')`).as('requested_by_name'))
    .select(nameOf(sql`decided_by`).as('decided_by_name'))

export const approvalsStore = {
  /** Returns false if another request of the kind waits for the same subject. */
  async insert(tx: Executor, approval: Approval): Promise<boolean> {
    const row = await tx
      .insertInto('approvals')
      .values({
        id: approval.id,
        org_id: approval.orgId,
        kind: approval.kind,
        subject: approval.subject,
        title: approval.title,
        payload: JSON.stringify(approval.payload),
        requester: JSON.stringify(approval.requester),
        people: [...approval.people],
        status: approval.status,
        requested_at: approval.requestedAt,
        expires_at: approval.expiresAt,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    return row !== undefined
  },

  /** How many requests of the organization wait, and how many of them this person or key has made. */
  async countPending(
    db: Executor,
    { orgId, actor, now }: { readonly orgId: string; readonly actor: string; readonly now: Date },
  ): Promise<{ readonly all: number; readonly own: number }> {
    const { rows } = await sql<{ all: number; own: number }>`
      select count(*) as all, count(*) filter (where coalesce(requester ->> 'personId', requester ->> 'keyId') = ${actor}) as own
      from approvals where org_id = ${orgId} and status = 'pending' and expires_at > ${now}`.execute(db)
    return rows[0]!
  },

  /** Returns the request that waits for this subject; it may have expired. */
  async findPending(db: Executor, kind: ApprovalKind, subject: string) {
    const query = db.selectFrom('approvals').select(['id', 'title', 'expires_at as expiresAt']).where('kind', '=', kind)
    const row = await query.where('subject', '=', subject).where('status', '=', 'pending').executeTakeFirst()
    return row ?? null
  },

  async find(db: Executor, id: string): Promise<ApprovalView | null> {
    const row = await shown(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : viewFrom(row)
  },

  /** Newest first, starting before number `before`. A null organization means all. */
  async page(
    db: Executor,
    { orgId, status }: { readonly orgId: string | null; readonly status: ApprovalStatus | undefined },
    { before, limit }: { readonly before: number | null; readonly limit: number },
  ): Promise<(ApprovalView & { readonly ordinal: number })[]> {
    let query = shown(db).orderBy('ordinal', 'desc').limit(limit)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    if (status !== undefined) query = query.where('status', '=', status)
    if (before !== null) query = query.where('ordinal', '<', before)
    return (await query.execute()).map((row) => ({ ...viewFrom(row), ordinal: row.ordinal }))
  },

  /** Locks the request until the transaction ends, so that a concurrent decision sees this one. */
  async lock(tx: Executor, id: string): Promise<Approval | null> {
    const row = await tx.selectFrom('approvals').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Returns the ids of pending requests that have expired. */
  async due(db: Executor, now: Date): Promise<string[]> {
    const query = db.selectFrom('approvals').select('id').where('status', '=', 'pending').where('expires_at', '<=', now)
    return (await query.orderBy('expires_at').execute()).map(({ id }) => id)
  },

  async decide(tx: Executor, id: string, { status, decidedAt, decidedBy, reason }: Decision): Promise<void> {
    await tx
      .updateTable('approvals')
      .set({ status, decided_at: decidedAt, decided_by: decidedBy, reason })
      .where('id', '=', id)
      .execute()
  },

  async deleteDecided(db: Executor, before: Date): Promise<void> {
    await db.deleteFrom('approvals').where('decided_at', '<', before).execute()
  },

  /** The people behind a key: its owner, its creator, and the creators or approvers of the keys that it came from. */
  async peopleBehind(db: Executor, keyId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive chain (id) as (
        select ${keyId}::uuid
        union
        select origin.id from chain join keys on keys.id = chain.id
          cross join lateral unnest(array[keys.person_id, keys.created_by::uuid, keys.approved_by, keys.replaces])
            as origin (id)
        where origin.id is not null
      )
      select people.id from chain join people on people.id = chain.id`.execute(db)
    return rows.map(({ id }) => id)
  },
}

const fromRow = (row: Selectable<ApprovalRow>): Approval => ({
  id: row.id,
  orgId: row.org_id,
  kind: row.kind as ApprovalKind,
  subject: row.subject,
  title: row.title,
  payload: row.payload,
  requester: row.requester as unknown as Caller,
  people: row.people,
  status: row.status as ApprovalStatus,
  requestedAt: row.requested_at,
  expiresAt: row.expires_at,
  decidedAt: row.decided_at,
  decidedBy: row.decided_by,
  reason: row.reason,
})

const viewFrom = (
  row: Selectable<ApprovalRow> & { readonly requested_by_name: string | null; readonly decided_by_name: string | null },
): ApprovalView => ({
  ...fromRow(row),
  requestedByName: row.requested_by_name,
  decidedByName: row.decided_by_name,
})
