import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import type { Database } from '../../../platform/db/open.ts'
import { selectionStore } from './selection.store.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const FLEET = 480

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Adds devices numbered from 1; `fields` returns the organization of each and whether it is active. */
const addFleet = async (
  db: Database,
  fields: (n: number) => { orgId: string | null; active: boolean; silent?: boolean; heardAt?: Date },
) => {
  const numbers = Array.from({ length: FLEET }, (_, index) => index + 1)
  for (const orgId of new Set(numbers.map((n) => fields(n).orgId))) {
    const devices = numbers.filter((n) => fields(n).orgId === orgId).length
    await sql`insert into device_counts (org_id, devices) values (${orgId ?? ''}, ${devices})`.execute(db.sql)
  }
  await sql`
    insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select id, id::text, org_id, 'linux', '{}', 'active', heard, registered, registered from unnest(
      ${numbers.map(idOf)}::uuid[], ${numbers.map((n) => fields(n).orgId)}::text[],
      ${numbers.map((n) => (fields(n).active ? (fields(n).heardAt ?? NOW) : new Date(0)))}::timestamptz[],
      ${numbers.map((n) => (fields(n).silent ? NOW : new Date(-1)))}::timestamptz[]) as d (id, org_id, heard, registered)`.execute(
    db.sql,
  )
}

/** Marsaglia's xorshift32: the same numbers in every run. */
const seeded = () => {
  let state = 2_463_534_242
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const { drawActive, countActive } = selectionStore
const scopeOf = (orgId: string | null) => ({ orgIds: [orgId], groupId: null })
const usual = { scope: scopeOf(null), now: NOW, lastRoundAt: null, except: null, without: null }

eachDatabase('a draw from a fleet that is much larger than the round', (open) => {
  it('selects each eligible device equally often, and no others', async () => {
    const db = await open()
    const isEligible = (n: number) => n % 4 === 0 && n !== 8
    await addFleet(db, (n) => ({ orgId: n % 4 === 1 ? 'other' : null, active: n % 4 !== 2 && n % 4 !== 3 }))
    const random = seeded()
    const times = new Map<string, number>()
    const draws = 60
    for (let draw = 0; draw < draws; draw++) {
      const drawn = await drawActive(db.sql, { ...usual, except: idOf(8), count: 20, random })
      expect(new Set(drawn).size).toBe(20)
      for (const id of drawn) times.set(id, (times.get(id) ?? 0) + 1)
    }
    const eligible = Array.from({ length: FLEET }, (_, index) => index + 1)
      .filter(isEligible)
      .map(idOf)
    expect([...times.keys()].filter((id) => !eligible.includes(id))).toEqual([])
    const expected = (draws * 20) / eligible.length
    const chiSquare = eligible.reduce((sum, id) => sum + ((times.get(id) ?? 0) - expected) ** 2 / expected, 0)
    // 119 devices leave 118 degrees of freedom: above 178 once in 3,500 times, if the numbers were not fixed.
    expect(chiSquare).toBeLessThan(178)
  })

  it('reads a small organization instead, and leaves no device out', async () => {
    const db = await open()
    await addFleet(db, (n) => ({ orgId: n % 24 === 0 ? 'small' : null, active: n !== 24 }))
    const times = new Map<string, number>()
    for (let draw = 0; draw < 190; draw++) {
      const drawn = await drawActive(db.sql, { ...usual, scope: scopeOf('small'), count: 2, random: seeded() })
      for (const id of drawn) times.set(id, (times.get(id) ?? 0) + 1)
    }
    const eligible = Array.from({ length: 19 }, (_, index) => idOf(24 * (index + 2)))
    expect([...times.keys()].sort()).toEqual(eligible)
    expect([...times.values()].reduce((sum, one) => sum + one)).toBe(380)
  })

  it('selects all that are active if they are too few', async () => {
    const db = await open()
    await addFleet(db, (n) => ({ orgId: 'small', active: n % 160 === 0 }))
    const random = seeded()
    const drawn = await drawActive(db.sql, { ...usual, scope: scopeOf('small'), count: 20, random })
    expect(drawn.sort()).toEqual([160, 320, 480].map(idOf))
    expect(await drawActive(db.sql, { ...usual, count: 20, random })).toEqual([])
  })

  it.each([
    ['a small organization', 'small', 0],
    ['a fleet', null, 1],
  ])(
    'from %s selects those first that were heard from since they registered, and then the others',
    async (_, orgId, own) => {
      const db = await open()
      await addFleet(db, (n) => ({
        orgId: own === 1 || n % 12 === 0 ? orgId : null,
        active: true,
        silent: n % 24 !== 0,
      }))
      const random = seeded()
      const scope = scopeOf(orgId)
      const received = Array.from({ length: 20 }, (_, index) => idOf(24 * (index + 1)))
      expect(await countActive(db.sql, scope, NOW)).toBe(own === 1 ? 480 : 40)
      for (let draw = 0; draw < 10; draw++) {
        const drawn = await drawActive(db.sql, { ...usual, scope, count: 15, random })
        expect(new Set(drawn).size).toBe(15)
        expect(drawn.filter((id) => !received.includes(id))).toEqual([])
      }
      const drawn = await drawActive(db.sql, { ...usual, scope, count: 30, random })
      expect(new Set(drawn).size).toBe(30)
      expect(drawn.filter((id) => received.includes(id)).sort()).toEqual(received)
    },
  )

  const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000)

  it.each([
    ['two of their own heartbeat intervals, before any round', null, 41],
    ['two of their own heartbeat intervals, while rounds follow each other', ago(1), 41],
    ['the beginning of the last round, which is longer ago', ago(60), 61],
  ])('selects those last that were not heard from within %s', async (_, lastRoundAt, silentSince) => {
    const db = await open()
    for (const orgId of ['small', null]) {
      await sql`delete from devices`.execute(db.sql)
      await sql`delete from device_counts`.execute(db.sql)
      const isLive = (n: number) => n % 48 === 0
      await addFleet(db, (n) => ({
        orgId: orgId === null || n % 12 === 0 ? orgId : null,
        active: true,
        heardAt: isLive(n) ? ago(silentSince - 1) : ago(silentSince),
      }))
      const live = Array.from({ length: 10 }, (_, index) => idOf(48 * (index + 1)))
      const draw = { ...usual, scope: scopeOf(orgId), lastRoundAt, random: seeded() }
      const drawn = await drawActive(db.sql, { ...draw, count: 8 })
      expect(drawn.filter((id) => !live.includes(id))).toEqual([])
      const more = await drawActive(db.sql, { ...draw, count: 12 })
      expect(more.filter((id) => live.includes(id)).sort()).toEqual(live)
      expect(more.length).toBe(12)
    }
  })

  it('selects no device that missed a round and was not heard from since, and none that does not train', async () => {
    const db = await open()
    await addFleet(db, (n) => ({ orgId: null, active: n <= 40, heardAt: ago(10) }))
    await sql`update devices set missed_at = case when ordinal % 4 = 1 then ${ago(9)}::timestamptz else ${ago(10)} end,
      trains = ordinal % 4 <> 2`.execute(db.sql)
    const { rows } = await sql<{ id: string }>`
      select id from devices where ordinal % 4 in (0, 3) and last_heartbeat > 'epoch' order by id`.execute(db.sql)
    const drawn = await drawActive(db.sql, { ...usual, count: 40, random: seeded() })
    expect(drawn.sort()).toEqual(rows.map(({ id }) => id))
    expect(await selectionStore.countActive(db.sql, usual.scope, NOW)).toBe(20)
  })
})

eachDatabase('a device that is erased during a draw', (open) => {
  it('is left out, because the draw waits for the erasure', async () => {
    const db = await open()
    await addFleet(db, () => ({ orgId: null, active: true }))
    let locked = (): void => {}
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve
    })
    let isDrawn = false
    const erasure = db.transaction(async (tx) => {
      await sql`select from devices where id = ${idOf(1)} for update`.execute(tx)
      locked()
      const waiting = sql`
        select from pg_locks w where not granted and pid in (select pid from pg_locks
          where database = (select oid from pg_database where datname = current_database()))`
      while (db.kind === 'postgres' && !isDrawn && (await waiting.execute(tx)).rows.length === 0);
      await sql`delete from devices where id = ${idOf(1)}`.execute(tx)
    })
    await isLocked
    const draw = db.transaction((tx) => drawActive(tx, { ...usual, count: FLEET, random: seeded() }))
    const drawn = await draw.finally(() => {
      isDrawn = true
    })
    await erasure
    expect(drawn).toHaveLength(FLEET - 1)
    expect(drawn).not.toContain(idOf(1))
  })
})
