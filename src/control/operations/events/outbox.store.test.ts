import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { eachDatabase, hasPostgres, openTestDatabase } from '../../../../test/databases.ts'
import type { Database } from '../../../platform/db/open.ts'
import { foreignOrderStore } from './foreign-order.store.ts'
import { type NewEvent, outboxStore } from './outbox.store.ts'

const store = outboxStore
const at = new Date('2026-01-01T00:00:00Z')
const ALL = { orgId: null, federationIds: [], topics: ['round', 'job'] } as const

const event = (id: string, fields: Partial<NewEvent> = {}): NewEvent => ({
  orgId: null,
  federationId: null,
  type: 'round.started',
  subject: { kind: 'round', id },
  payload: { round_number: 1 },
  ...fields,
})

const add = (database: Database, ...events: NewEvent[]) => database.transaction((tx) => store.insertAll(tx, events, at))

/** Open transactions of other databases on the same server also hold back what is committed meanwhile. */
const settled = (database: Database) =>
  expect.poll(async () => (await store.after(database.sql, null, 10)).every(({ isSettled }) => isSettled)).toBe(true)

const signal = () => {
  let give = () => {}
  const given = new Promise<void>((resolve) => (give = resolve))
  return { give, given }
}

const ids = (events: readonly { subject: { id: string | null } }[]) => events.map(({ subject }) => subject.id)

eachDatabase('the outbox', (open) => {
  it('returns events in order, as they were written', async () => {
    const database = await open()
    expect(await store.head(database.sql)).toBeNull()
    await add(database, event('a', { orgId: 'acme' }), event('b'))
    await add(database, event('c'))
    await settled(database)
    const all = await store.after(database.sql, null, 10)
    expect(ids(all)).toEqual(['a', 'b', 'c'])
    expect(all[0]).toEqual({
      ...event('a', { orgId: 'acme' }),
      id: expect.any(Number),
      tx: expect.any(String),
      at,
      isSettled: true,
    })
    const [first, , last] = all
    expect(await store.head(database.sql)).toEqual({ tx: last!.tx, id: last!.id })
    expect(await store.find(database.sql, first!.id)).toEqual({ tx: first!.tx, id: first!.id })
    expect(ids(await store.after(database.sql, first!, 1))).toEqual(['b'])
    expect(await store.after(database.sql, last!, 10)).toEqual([])
  })

  it('ends at the last transaction, even if its number has one digit more', async () => {
    const database = await open()
    await add(database, event('a'), event('b'))
    const [first, last] = await store.after(database.sql, null, 10)
    for (const [tx, { id }] of [
      ['9', first!],
      ['10', last!],
    ] as const)
      await sql`update events_outbox set tx = ${tx}::xid8 where id = ${id}`.execute(database.sql)
    expect(await store.head(database.sql)).toEqual({ tx: '10', id: last!.id })
  })

  it("replays a range of one organization's events, of the requested topics", async () => {
    const database = await open()
    await add(database, event('0'))
    await settled(database)
    const from = (await store.head(database.sql))!
    await add(database, event('a', { orgId: 'acme' }), event('b', { orgId: 'globex' }))
    await add(database, event('c', { orgId: 'acme', subject: { kind: 'device', id: 'c' } }), event('d'))
    await settled(database)
    const to = (await store.head(database.sql))!
    await add(database, event('e', { orgId: 'acme' }))
    expect(ids(await store.between(database.sql, { from, to }, ALL, 10))).toEqual(['a', 'b', 'd'])
    expect(ids(await store.between(database.sql, { from, to }, { ...ALL, orgId: 'acme' }, 10))).toEqual(['a'])
  })

  it('deletes old events, but never the newest', async () => {
    const database = await open()
    await add(database, event('a'), event('b'), event('c'))
    const later = new Date(at.getTime() + 1)
    expect(await store.retire(database.sql, at, 10)).toBe(0)
    expect(await store.retire(database.sql, later, 1)).toBe(1)
    expect(await store.retire(database.sql, later, 10)).toBe(1)
    expect(ids(await store.after(database.sql, null, 10))).toEqual(['c'])
  })
})

describe.skipIf(!hasPostgres())('events of another server (PostgreSQL)', () => {
  it('keep their order, and come before those of this one', async () => {
    const database = await openTestDatabase('postgres')
    const order = foreignOrderStore
    await add(database, event('a'), event('b'), event('c'), event('d'))
    expect(await database.transaction((tx) => order.renumber(tx))).toBe(false)
    // As in a dump: the second was written by a later transaction than the third.
    await sql`update events_outbox e set tx = (900000000 + (array[1, 7, 3, 9])[place])::text::xid8
      from (select id, row_number() over (order by id) as place from events_outbox) p where p.id = e.id`.execute(
      database.sql,
    )
    expect(await database.transaction((tx) => order.renumber(tx))).toBe(true)
    await add(database, event('e'))
    await settled(database)
    expect(ids(await store.after(database.sql, null, 10))).toEqual(['a', 'c', 'b', 'd', 'e'])
  })
})

describe.skipIf(!hasPostgres())('an open transaction (PostgreSQL)', () => {
  it('holds back what others have committed since, so that nothing is ever added before what was read', async () => {
    const database = await openTestDatabase('postgres')
    await add(database, event('before'))
    await settled(database)
    const [committed, written] = [signal(), signal()]
    const slow = database.transaction(async (tx) => {
      await store.insertAll(tx, [event('slow')], at)
      written.give()
      await committed.given
    })
    await written.given
    await add(database, event('fast'))
    const seen = await store.after(database.sql, null, 10)
    expect(seen.map(({ subject, isSettled }) => [subject.id, isSettled])).toEqual([
      ['before', true],
      ['fast', false],
    ])
    expect(await store.head(database.sql)).toEqual({ tx: seen[0]!.tx, id: seen[0]!.id })
    committed.give()
    await slow
    await settled(database)
    const all = await store.after(database.sql, null, 10)
    expect(all.map(({ subject, isSettled }) => [subject.id, isSettled])).toEqual([
      ['before', true],
      ['slow', true],
      ['fast', true],
    ])
  })
})
