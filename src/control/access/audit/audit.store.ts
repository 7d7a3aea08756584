import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AuditActor, AuditEntry, AuditResult } from '../../../domain/audit.ts'
import type { AuditEntryRow } from '../../../platform/db/access-rows.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface ChainedEntry extends AuditEntry {
  readonly hash: string
}

/** The end of a chain, and its beginning: after the last entry that was deleted because of its age. */
export interface ChainHead {
  readonly orgId: string
  readonly seq: number
  readonly hash: string
  readonly prunedSeq: number
  readonly prunedHash: string
  readonly prunedSignature: string | null
}

export interface AuditName {
  readonly kind: string
  readonly id: string
  readonly name: string
}

/** The name of a person or thing; `email` is a person's, null for anything else. */
export interface ErasedName {
  readonly kind: string
  readonly id: string
  readonly email: string | null
}

export const auditStore = {
  /** Whether this transaction has changed anything so far. */
  async hasWritten(tx: Executor): Promise<boolean> {
    const { rows } = await sql<{ written: boolean }>`
      select pg_current_xact_id_if_assigned() is not null as written`.execute(tx)
    return rows[0]!.written
  },

  /** Returns the end of the organization's chain, and locks it until this transaction ends. */
  async lockHead(tx: Executor, orgId: string): Promise<{ readonly seq: number; readonly hash: string }> {
    const { rows } = await sql<{ seq: number; hash: string }>`
      insert into audit_heads (org_id, seq, hash) values (${orgId}, 0, '')
      on conflict (org_id) do update set seq = audit_heads.seq returning seq, hash`.execute(tx)
    return rows[0]!
  },

  /** Adds an entry and moves the head to it. Looks up the names of keys and people; `names` has the others. */
  async append(tx: Executor, entry: ChainedEntry, names: readonly AuditName[]): Promise<void> {
    const { orgId, actorKind, actorId } = entry
    // Compares ids, which are indexed: there are many keys, because every device has one.
    const idOf = (kind: AuditActor) => sql`${actorKind === kind ? actorId : null}::uuid`
    await sql`
      with entry as (
        insert into audit_entries (org_id, seq, at, actor_kind, actor_id, credential_id, address_id, action,
          object_kind, object_id, changes, result, status, request_id, prev_hash, hash)
        values (${orgId}, ${entry.seq}, ${entry.at}, ${actorKind}, ${actorId}, ${entry.credentialId}, ${entry.addressId},
          ${entry.action}, ${entry.objectKind}, ${entry.objectId}, ${entry.changes}, ${entry.result}, ${entry.status},
          ${entry.requestId}, ${entry.prevHash}, ${entry.hash})
      ), head as (
        update audit_heads set seq = ${entry.seq}, hash = ${entry.hash} where org_id = ${orgId}
      ), named as (
        select 'key' as kind, id::text, name from keys where id = ${idOf('key')}
        union all
        select 'person', id::text, coalesce(email, name) from people where id = ${idOf('person')}
        union all
        select kind, id, name from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) as given (kind text, id text, name text)
      )
      insert into audit_names (org_id, kind, id, name)
      select distinct on (kind, id) ${orgId}, kind, id, name from named where name is not null
      on conflict (org_id, kind, id) do update set name = excluded.name where audit_names.name <> excluded.name`.execute(
      tx,
    )
  },

  /** Returns the heads of one organization (null for all) that have entries. */
  async heads(db: Executor, orgId: string | null): Promise<ChainHead[]> {
    const rows = await db
      .selectFrom('audit_heads')
      .selectAll()
      .where('seq', '>', 0)
      .$if(orgId !== null, (query) => query.where('org_id', '=', orgId!))
      .orderBy('org_id')
      .execute()
    return rows.map((row) => ({
      orgId: row.org_id,
      seq: row.seq,
      hash: row.hash,
      prunedSeq: row.pruned_seq,
      prunedHash: row.pruned_hash,
      prunedSignature: row.pruned_signature,
    }))
  },

  /** The organizations that have entries, even if the head of their chain is gone. */
  async organizations(db: Executor): Promise<string[]> {
    const rows = await db.selectFrom('audit_entries').select('org_id').distinct().execute()
    return rows.map(({ org_id }) => org_id)
  },

  /** The number of the last entry that is stored now; 0 if there is none. */
  async lastSeq(db: Executor, orgId: string): Promise<number> {
    const { rows } = await sql<{ seq: number | null }>`
      select max(seq) as seq from audit_entries where org_id = ${orgId}`.execute(db)
    return rows[0]?.seq ?? 0
  },

  /** Returns entries after `after`, up to `upTo`, in order. */
  async chain(
    db: Executor,
    orgId: string,
    { after, upTo, limit }: { after: number; upTo: number; limit: number },
  ): Promise<ChainedEntry[]> {
    const { rows } = await sql<Selectable<AuditEntryRow>>`
      select * from audit_entries where org_id = ${orgId} and seq > ${after} and seq <= ${upTo}
      order by seq, id limit ${limit}`.execute(db)
    return rows.map(fromRow)
  },

  /**
   * The last entry older than `before` that precedes all that are not; null if there is none. Entries written while the clock
   * was ahead are as old as the next ones: they must not keep what follows for as long as it was ahead.
   */
  async lastBefore(
    tx: Executor,
    orgId: string,
    { before, now }: { before: Date; now: Date },
  ): Promise<{ seq: number; hash: string } | null> {
    const { rows } = await sql<{ seq: number; hash: string }>`
      select seq, hash from audit_entries where org_id = ${orgId} and at < ${before} and seq < coalesce(
        (select min(seq) from audit_entries where org_id = ${orgId} and at >= ${before} and at <= ${latestTrusted(now)}),
        9007199254740991)
      order by seq desc limit 1`.execute(tx)
    return rows[0] ?? null
  },

  /** Deletes all entries up to `seq`, and the names that no other entry needs; the chain then begins after it. */
  async prune(tx: Executor, orgId: string, at: { seq: number; hash: string; signature: string }): Promise<number> {
    await tx
      .updateTable('audit_heads')
      .set({ pruned_seq: at.seq, pruned_hash: at.hash, pruned_signature: at.signature })
      .where('org_id', '=', orgId)
      .execute()
    const unless = (refers: RawBuilder<unknown>) =>
      sql`not exists (select from audit_entries e where e.org_id = ${orgId} and e.seq > ${at.seq} and ${refers})`
    const { rows } = await sql<{ pruned: number }>`
      with gone as (
        delete from audit_entries where org_id = ${orgId} and seq <= ${at.seq}
        returning object_kind, object_id, actor_kind, actor_id, address_id
      ), named (kind, id) as (
        select object_kind, object_id from gone union select actor_kind, actor_id from gone union select 'address', address_id from gone
      ), forgotten as (
        delete from audit_names n using named where n.org_id = ${orgId} and n.kind = named.kind and n.id = named.id
          and ${unless(sql`e.object_id = n.id and e.object_kind = n.kind`)}
          and ${unless(sql`e.actor_id = n.id and e.actor_kind = n.kind`)}
          and ${unless(sql`e.address_id = n.id and n.kind = 'address'`)}
      )
      select count(*)::int as pruned from gone`.execute(tx)
    return rows[0]!.pruned
  },

  /**
   * Erases the name of a person or thing, and also an actor's addresses, the programs whose login it has decided, and the
   * invitations to a person's email address; returns how many. The entries do not change.
   */
  async erase(tx: Executor, orgId: string, { kind, id, email }: ErasedName): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from audit_names where org_id = ${orgId} and ((kind in (${kind}, 'login') and id = ${id}) or (kind = 'address' and id in (
        select address_id from audit_entries where org_id = ${orgId} and actor_kind = ${kind} and actor_id = ${id}))
        or (kind = 'invitation' and lower(name) = lower(${email}::text)))`.execute(tx)
    return Number(numAffectedRows)
  },

  /**
   * Erases the names of a device and its keys, which are named after it, in all chains: with open enrollment, it may have acted
   * for several organizations.
   */
  async eraseDevice(tx: Executor, deviceId: string, keyIds: readonly string[]): Promise<number> {
    let names = 0
    for (const { kind, id } of [{ kind: 'device', id: deviceId }, ...keyIds.map((id) => ({ kind: 'key', id }))]) {
      const named = tx.selectFrom('audit_names').select('org_id').where('kind', '=', kind).where('id', '=', id)
      for (const row of await named.execute())
        names += await auditStore.erase(tx, row.org_id, { kind, id, email: null })
    }
    return names
  },
}

export const fromRow = (row: Selectable<AuditEntryRow>): ChainedEntry => ({
  orgId: row.org_id,
  seq: row.seq,
  at: row.at,
  actorKind: row.actor_kind as AuditActor,
  actorId: row.actor_id,
  credentialId: row.credential_id,
  addressId: row.address_id,
  action: row.action,
  objectKind: row.object_kind,
  objectId: row.object_id,
  changes: row.changes,
  result: row.result as AuditResult,
  status: row.status,
  requestId: row.request_id,
  prevHash: row.prev_hash,
  hash: row.hash,
})
