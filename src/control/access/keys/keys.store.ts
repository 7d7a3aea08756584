import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import { fromRow, type KeyKind, type StoredKey, toRow } from './stored-key.store.ts'

export interface KeyPage {
  readonly kinds: readonly KeyKind[]
  /** Only keys of this person. */
  readonly personId?: string
  readonly limit: number
  readonly offset: number
}

const ADMIN_LOCK = 5_820_001

const IS_KIND: Readonly<Record<KeyKind, RawBuilder<SqlBool>>> = {
  service: sql<SqlBool>`(device_id is null and person_id is null)`,
  personal: sql<SqlBool>`(person_id is not null)`,
  device: sql<SqlBool>`(device_id is not null)`,
}

/** Only keys of people and programs: a device's keys end with the device. */
const EXCEEDS_LIFETIME = sql<boolean>`(keys.device_id is null and exists (
  select from org_settings s where s.org_id = keys.org_id
  and coalesce(keys.expires_at, 'infinity') > keys.created_at + s.key_lifetime_days * interval '24 hours'))`

const roleOfPerson = sql<string | null>`(
  select role from people where people.id = keys.person_id and people.removed_at is null)`

const REPLACED_BY = sql<string | null>`(select newer.id from keys newer where newer.replaces = keys.id)`

const selectWithRole = (db: Executor) => db.selectFrom('keys').selectAll().select(roleOfPerson.as('role'))

const selectDetailed = (db: Executor) =>
  selectWithRole(db).select([REPLACED_BY.as('replaced_by'), EXCEEDS_LIFETIME.as('exceeds_lifetime')])

/** Valid keys that can create keys for every organization. */
const unboundAdmins = (db: Executor, now: Date) =>
  db
    .selectFrom('keys')
    .where(sql<boolean>`'admin' = any(grants)`)
    .where('org_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))

/** The name of the key that the first start under token enrollment creates. No other key gets it. */
export const FIRST_ADMIN_NAME = 'first admin key'

/** From before token enrollment. Visitors may have made what else the first start creates, such as the organization `default`. */
const IS_FROM_BEFORE = sql<boolean>`created_at < coalesce(
  (select min(earliest.created_at) from keys earliest where earliest.name = ${FIRST_ADMIN_NAME} and earliest.org_id is null),
  'infinity')`

export const keysStore = {
  /**
   * The part of the statement for registering devices that gives them their keys, so that neither is ever visible without the
   * other. `devices` is a query of (key_id, prefix, hash, name, org_id, device_id, at).
   */
  insertForDevices: (devices: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    insert into keys (id, prefix, hash, name, org_id, device_id, created_at, grants)
    select key_id, prefix, hash, name, org_id, device_id, at, array['self']
    from (${devices}) as d (key_id, prefix, hash, name, org_id, device_id, at)`,

  async insert(db: Executor, key: StoredKey): Promise<void> {
    await db.insertInto('keys').values(toRow(key)).execute()
  },

  /** Inserts the key unless there is a valid one from token enrollment for every organization; true if it was inserted. */
  async insertFirstAdmin(db: Executor, key: StoredKey): Promise<boolean> {
    await sql`select pg_advisory_xact_lock(${ADMIN_LOCK})`.execute(db)
    const admin = await unboundAdmins(db, key.createdAt)
      .where((where) => where.not(IS_FROM_BEFORE))
      .select('id')
      .limit(1)
      .executeTakeFirst()
    if (admin !== undefined) return false
    await db.insertInto('keys').values(toRow(key)).execute()
    return true
  },

  /** How many valid keys are admins of every organization, and from before token enrollment. */
  async countEarlierAdmins(db: Executor, now: Date): Promise<number> {
    const { count } = await unboundAdmins(db, now)
      .where(IS_FROM_BEFORE)
      .select((of) => of.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  async findByHashes(db: Executor, hashes: readonly string[]): Promise<StoredKey[]> {
    const isFound = sql<boolean>`hash = any(${hashes}::text[])`
    return (await selectWithRole(db).where(isFound).execute()).map(fromRow)
  },

  async findByIds(db: Executor, ids: readonly string[]): Promise<StoredKey[]> {
    const isFound = sql<boolean>`id = any(${ids}::uuid[])`
    return (await selectWithRole(db).where(isFound).execute()).map(fromRow)
  },

  /** Newest first. */
  async list(db: Executor, orgId: string | null, { kinds, personId, limit, offset }: KeyPage): Promise<StoredKey[]> {
    let query = selectDetailed(db)
      .where((where) => where.or(kinds.map((kind) => IS_KIND[kind])))
      .limit(limit)
      .offset(offset)
    if (personId !== undefined) query = query.where('person_id', '=', personId)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    const rows = await query.orderBy('created_at', 'desc').orderBy('id').execute()
    return rows.map(fromRow)
  },

  async find(db: Executor, id: string): Promise<StoredKey | null> {
    const row = await selectDetailed(db).where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** The id of the newest key in the place of this one: its replacement, the replacement of that, and so on. */
  async newestInPlaceOf(db: Executor, id: string): Promise<string> {
    const { rows } = await sql<{ id: string }>`
      with recursive chain as (
        select ${id}::uuid as id, 0 as depth
        union all select keys.id, chain.depth + 1 from keys join chain on keys.replaces = chain.id
      )
      select id from chain order by depth desc limit 1`.execute(db)
    return rows[0]!.id
  },

  /** The ids of the valid keys in the place of this one: its replacement, the replacement of that, and so on. */
  async validReplacements(db: Executor, id: string, now: Date): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive chain as (
        select id, revoked_at, expires_at from keys where replaces = ${id}
        union all select k.id, k.revoked_at, k.expires_at from keys k join chain on k.replaces = chain.id
      )
      select id from chain where revoked_at is null and coalesce(expires_at, 'infinity') > ${now}`.execute(db)
    return rows.map((row) => row.id)
  },

  /** How many of the organization's keys are valid at `now` and last longer than its rules allow. */
  async countExceeding(db: Executor, orgId: string, now: Date): Promise<number> {
    const { count } = await db
      .selectFrom('keys')
      .select((of) => of.fn.countAll<number>().as('count'))
      .where('org_id', '=', orgId)
      .where('revoked_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      .where(EXCEEDS_LIFETIME)
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  /**
   * Locks the chain of this key: transactions that approve with or revoke one of its keys wait until this one ends, so that
   * readers of the chain see all of it.
   */
  async lockChain(tx: Executor, key: Pick<StoredKey, 'id' | 'rootId'>): Promise<void> {
    await sql`select from keys where id = ${key.rootId ?? key.id} for update`.execute(tx)
  },

  /** Revokes a key and all that it approved, directly or indirectly; returns the hashes of those revoked now. */
  async revoke(tx: Executor, id: string, now: Date): Promise<string[]> {
    const { rows } = await sql<{ hash: string }>`
      with recursive ended as (
        select id from keys where id = ${id}
        union all select k.id from keys k join ended on k.approved_by = ended.id
      )
      update keys set revoked_at = ${now} where id in (select id from ended) and revoked_at is null
      returning hash`.execute(tx)
    return rows.map((row) => row.hash)
  },

  /** Revokes all keys of a person and those that they approved; returns the hashes of those revoked now. */
  async revokeOfPerson(tx: Executor, personId: string, now: Date): Promise<string[]> {
    // The chains of these keys (see lockChain): a rotation or approval that is under way adds a key.
    await sql`
      select from keys where id in (select coalesce(root_id, id) from keys where person_id = ${personId})
      order by id for update`.execute(tx)
    const rows = await tx.selectFrom('keys').select('id').where('person_id', '=', personId).orderBy('id').execute()
    const hashes: string[] = []
    for (const { id } of rows) hashes.push(...(await this.revoke(tx, id, now)))
    return hashes
  },

  async hashesOfPerson(db: Executor, personId: string): Promise<string[]> {
    const rows = await db.selectFrom('keys').select('hash').where('person_id', '=', personId).execute()
    return rows.map(({ hash }) => hash)
  },

  ofDevice: (db: Executor, deviceId: string): Promise<{ id: string; hash: string }[]> =>
    db.selectFrom('keys').select(['id', 'hash']).where('device_id', '=', deviceId).execute(),

  /** For reading or deleting them. */
  rowsOfDevice: (deviceId: string) => sql`from keys t where t.device_id = ${deviceId}`,

  /** Ends a key and all that it approved at `at`, unless they end earlier; returns their hashes. */
  async endAt(tx: Executor, id: string, at: Date): Promise<string[]> {
    const { rows } = await sql<{ hash: string }>`
      with recursive chain as (
        select id from keys where id = ${id}
        union all select k.id from keys k join chain on k.approved_by = chain.id
      )
      update keys set expires_at = least(expires_at, ${at}) where id in (select id from chain) returning hash`.execute(
      tx,
    )
    return rows.map((row) => row.hash)
  },

  /** Gives this organization the keys of devices without one. */
  async adopt(tx: Executor, orgId: string): Promise<void> {
    await sql`update keys set org_id = ${orgId} where org_id is null and device_id is not null`.execute(tx)
  },

  async markUsed(db: Executor, uses: readonly { readonly id: string; readonly at: Date }[]): Promise<void> {
    const sorted = [...uses].sort((a, b) => (a.id < b.id ? -1 : 1))
    await sql`
      update keys set last_used_at = used.at
      from unnest(${sorted.map((use) => use.id)}::uuid[], ${sorted.map((use) => use.at)}::timestamptz[]) as used (id, at)
      where keys.id = used.id`.execute(db)
  },
}
