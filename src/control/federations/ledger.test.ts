import { randomUUID } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { eachDatabase } from '../../../test/databases.ts'
import type { Database } from '../../platform/db/open.ts'
import { createEventBus } from '../../platform/events/event-bus.ts'
import { Accounting } from './accounting/accounting.ts'
import { federationsStore } from './federations.store.ts'
import { createLedger } from './ledger.service.ts'
import { ledgerStore } from './ledger.store.ts'

const now = () => new Date('2026-01-01T00:00:00Z')
const accounting = new Accounting()
afterAll(() => accounting.close())

/** The organization that asks. */
const acme = { orgId: 'acme' }

const openLedger = async (database: Database, budget: { epsilon: number; delta: number } | null) => {
  const federationId = randomUUID()
  await database.transaction((tx) =>
    federationsStore.insert(tx, {
      id: federationId,
      orgId: 'acme',
      name: 'league',
      description: '',
      status: 'active',
      memberCount: 1,
      createdAt: now(),
    }),
  )
  const store = ledgerStore
  if (budget !== null) await store.setBudget(database.sql, federationId, budget, now())
  const round = (noiseMultiplier = 1.1, sampleRate = 0.1) => ({
    roundId: randomUUID(),
    jobId: null,
    clipNorm: 1,
    noiseMultiplier,
    sampleRate,
    steps: 1,
  })
  // Each caller has its own ledger object, as separate processes would.
  const ledger = () => createLedger({ database, accounting, events: createEventBus(console), now, newId: randomUUID })
  const reserve = async ({ noiseMultiplier, sampleRate, steps, ...booked } = round()) => {
    const own = ledger()
    await own.withQuote(acme, federationId, { noiseMultiplier, sampleRate, steps }, (quote) =>
      database.transaction((tx) => own.reserve(tx, quote, booked)),
    )
    return booked.roundId
  }
  const statuses = async () =>
    (await database.sql.selectFrom('privacy_ledger').select('status').orderBy('ordinal').execute()).map((r) => r.status)
  return { federationId, store, ledger, round, reserve, statuses }
}

eachDatabase('the privacy ledger', (open) => {
  // One such round costs 1.359, ten 2.350, eleven 2.427 (PLD accounting).
  const TEN = { epsilon: 2.36, delta: 1e-5 }

  it('reserves rounds until the budget is committed, and refuses the next one with the numbers', async () => {
    const { federationId, reserve, statuses } = await openLedger(await open(), TEN)
    for (let n = 0; n < 10; n++) await reserve()
    await expect(reserve()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^The privacy budget does not allow this: epsilon 2\.350\d+ of 2\.36 is spent or reserved, and this would make it 2\.4\d+ \(delta 0\.00001, by PLD accounting\)\./,
      ),
    })
    expect(await statuses()).toEqual(Array(10).fill('reserved'))
    expect(federationId).toHaveLength(36)
  })

  it('does not let concurrent rounds overdraw a budget, however many there are', async () => {
    const database = await open()
    const { reserve, statuses } = await openLedger(database, TEN)
    const outcomes = await Promise.allSettled(Array.from({ length: 24 }, () => reserve()))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    expect(await statuses()).toHaveLength(10)
  })

  it('counts reserved rounds like settled ones, and each round only once', async () => {
    const database = await open()
    const { store, reserve, round, statuses } = await openLedger(database, { epsilon: 1.36, delta: 1e-5 })
    const first = await reserve()
    await expect(reserve()).rejects.toMatchObject({ code: 'conflict' })
    await database.transaction((tx) => store.settle(tx, first, now()))
    await database.transaction((tx) => store.settle(tx, first, now()))
    await expect(reserve()).rejects.toMatchObject({ code: 'conflict' })
    expect(await statuses()).toEqual(['settled'])
    await expect(reserve({ ...round(1e6, 1e-6), roundId: first })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('books nothing on a quote if something else was booked since, or the budget has changed', async () => {
    const database = await open()
    const { federationId, ledger, reserve, round, statuses, store } = await openLedger(database, TEN)
    const stale = await ledger().quote(acme, federationId, round())
    const use = (quote: typeof stale) => database.transaction((tx) => ledger().reserve(tx, quote, round()))
    await reserve()
    await expect(use(stale)).rejects.toMatchObject({
      name: 'LedgerMoved',
      code: 'conflict',
      message: 'Other private rounds of this federation started at the same moment. Try again.',
    })
    const early = await ledger().quote(acme, federationId, round())
    await store.setBudget(database.sql, federationId, { epsilon: 0.1, delta: 1e-5 }, now())
    await expect(use(early)).rejects.toMatchObject({ name: 'LedgerMoved' })
    await expect(reserve()).rejects.toMatchObject({ name: 'BudgetRefused', code: 'conflict' })
    expect(await statuses()).toEqual(['reserved'])
  })

  it('makes a new quote if something else was booked in the meantime, and gives up after twenty', async () => {
    const database = await open()
    const { federationId, ledger, reserve, round } = await openLedger(database, { epsilon: 30, delta: 1e-5 })
    let attempts = 0
    const revision = await ledger().withQuote(acme, federationId, round(), async (quote) => {
      if (++attempts < 3) await reserve()
      await database.transaction((tx) => ledger().reserve(tx, quote, round()))
      return quote.revision
    })
    expect([attempts, revision]).toEqual([3, 2])
    attempts = 0
    const always = ledger().withQuote(acme, federationId, round(), async (quote) => {
      attempts++
      await reserve()
      await database.transaction((tx) => ledger().reserve(tx, quote, round()))
    })
    await expect(always).rejects.toMatchObject({ name: 'LedgerMoved' })
    expect(attempts).toBe(20)
  })

  it('rolls a reservation back with its transaction', async () => {
    const database = await open()
    const { federationId, ledger, round, reserve, statuses } = await openLedger(database, TEN)
    const quote = await ledger().quote(acme, federationId, round())
    const failing = database.transaction(async (tx) => {
      await ledger().reserve(tx, quote, round())
      throw new Error('the round could not start')
    })
    await expect(failing).rejects.toThrow('the round could not start')
    expect(await statuses()).toEqual([])
    // The ledger's revision has not changed either: the quote is still valid.
    await database.transaction((tx) => ledger().reserve(tx, quote, round()))
    await reserve()
    expect(await statuses()).toEqual(['reserved', 'reserved'])
  })

  it('combines rounds with different noise and sampling', async () => {
    const { reserve, round } = await openLedger(await open(), { epsilon: 1.8, delta: 1e-5 })
    await reserve(round(1.1, 0.1))
    await reserve(round(2, 0.5))
    await expect(reserve(round(1.5, 0.3))).rejects.toMatchObject({ code: 'conflict' })
    await reserve(round(50, 0.01))
  })

  it('books nothing without a budget, without noise, or with an invalid sample rate', async () => {
    const database = await open()
    const none = await openLedger(database, null)
    await expect(none.reserve()).rejects.toMatchObject({
      code: 'conflict',
      message:
        `Federation ${none.federationId} has no privacy budget, so no private round can start. Set one first: ` +
        `PUT /api/v1/federations/${none.federationId}/privacy/budget.`,
    })
    await none.store.setBudget(database.sql, none.federationId, TEN, now())
    await expect(none.reserve(none.round(0))).rejects.toMatchObject({ code: 'bad_request' })
    await expect(none.reserve(none.round(1, 0))).rejects.toMatchObject({ code: 'bad_request' })
    await expect(none.reserve(none.round(1, 1.01))).rejects.toMatchObject({ code: 'bad_request' })
    expect(await none.statuses()).toEqual([])
  })

  it('checks whether all rounds of a job would fit, without booking anything', async () => {
    const { federationId, ledger, statuses } = await openLedger(await open(), TEN)
    const planned = { noiseMultiplier: 1.1, sampleRate: 0.1 }
    await ledger().quote(acme, federationId, { ...planned, steps: 10 })
    await expect(ledger().quote(acme, federationId, { ...planned, steps: 11 })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(await statuses()).toEqual([])
  })
})
