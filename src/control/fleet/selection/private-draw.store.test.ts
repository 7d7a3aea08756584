import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { coinBound } from '../../../domain/poisson-sampling.ts'
import type { Database } from '../../../platform/db/open.ts'
import { privateDrawStore } from './selection.store.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const scope = { orgIds: [null], groupId: null }
const store = privateDrawStore

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const seedOf = (n: number): Uint8Array => createHash('sha256').update(`seed ${n}`).digest()

/** Adds devices with these numbers; `silent` ones were heard from too long ago. */
const add = (db: Database, numbers: readonly number[], silent = false) =>
  sql`
    insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select id, id::text, null, 'linux', '{}', 'active', heard, heard, heard from unnest(
      ${numbers.map(idOf)}::uuid[], ${numbers.map(() => (silent ? new Date(0) : NOW))}::timestamptz[])
      as d (id, heard)`.execute(db.sql)

const draw = async (db: Database, sampleRate: number, seed: Uint8Array) =>
  (await store.draw(db.sql, { scope, activeSince: NOW, sampleRate, seed })).sort()

/** The coin of one device, independent of all others. */
const isDrawn = (n: number, sampleRate: number, seed: Uint8Array): boolean => {
  const bound = coinBound(sampleRate)
  if (bound === null) return true
  const id = Buffer.from(idOf(n).replaceAll('-', ''), 'hex')
  return createHash('sha256').update(seed).update(id).digest('hex').slice(0, 16) < bound
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

eachDatabase('the draw of a private round', (open) => {
  it('is an independent coin for every eligible device: other devices, and their removal, change nothing', async () => {
    const db = await open()
    const fleet = range(0, 200)
    await add(db, fleet)
    await add(db, range(1000, 1010), true)
    expect(await store.countEligible(db.sql, scope, NOW)).toBe(200)
    const seen: string[][] = []
    for (const rate of [1, 0.5, 1 / 3, 0.05]) {
      const drawn = await draw(db, rate, seedOf(1))
      expect(drawn).toEqual(fleet.filter((n) => isDrawn(n, rate, seedOf(1))).map(idOf))
      seen.push(drawn)
    }
    expect(seen[0]).toHaveLength(200)

    await sql`delete from devices where id = any(${range(0, 60).map(idOf)}::uuid[])`.execute(db.sql)
    await add(db, range(200, 260))
    for (const [at, rate] of [1, 0.5, 1 / 3, 0.05].entries()) {
      const kept = (ids: readonly string[]) => ids.filter((id) => id >= idOf(60) && id < idOf(200))
      expect(kept(await draw(db, rate, seedOf(1)))).toEqual(kept(seen[at]!))
    }
    expect(await draw(db, 0.5, seedOf(2))).not.toEqual(await draw(db, 0.5, seedOf(3)))
  })
})

it('many draws select each device with probability q, pairs independently, and a binomial number of devices', () => {
  const [draws, devices, rate] = [20_000, 8, 0.3]
  const single = new Array<number>(devices).fill(0)
  const pairs = new Map<string, number>()
  const sizes = new Array<number>(devices + 1).fill(0)
  for (let at = 0; at < draws; at++) {
    const seed = seedOf(at)
    const drawn = range(0, devices).filter((n) => isDrawn(n, rate, seed))
    sizes[drawn.length]!++
    for (const a of drawn) {
      single[a]!++
      for (const b of drawn) if (a < b) pairs.set(`${a} ${b}`, (pairs.get(`${a} ${b}`) ?? 0) + 1)
    }
  }
  // The seeds are fixed: the bounds of four standard errors always hold or never do.
  const near = (times: number, chance: number): void =>
    expect(Math.abs(times / draws - chance)).toBeLessThan(4 * Math.sqrt((chance * (1 - chance)) / draws))
  for (const times of single) near(times, rate)
  expect(pairs.size).toBe((devices * (devices - 1)) / 2)
  for (const times of pairs.values()) near(times, rate ** 2)
  let ways = 1
  sizes.forEach((times, k) => {
    near(times, ways * rate ** k * (1 - rate) ** (devices - k))
    ways = (ways * (devices - k)) / (k + 1)
  })
})
