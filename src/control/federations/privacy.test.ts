import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../../test/databases.ts'
import type { Caller } from '../../domain/access.ts'
import type { Executor } from '../../platform/db/open.ts'
import { createEventBus } from '../../platform/events/event-bus.ts'
import type { ControlEvents } from '../events.ts'
import { Accounting } from './accounting/accounting.ts'
import { openFederation } from './federation.fixture.ts'
import { createFederationsService } from './federations.service.ts'
import { createLedger } from './ledger.service.ts'
import { ledgerStore } from './ledger.store.ts'
import { createPrivacyService } from './privacy.service.ts'
import { createPrivacyForecasts } from './privacy-forecasts.service.ts'

const start = new Date('2026-01-01T00:00:00Z')
const accounting = new Accounting()
afterAll(() => accounting.close())

describe('a privacy budget over HTTP', () => {
  it('is empty until the owner sets it, and can be changed', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
    const unset = {
      federation_id: id,
      total_epsilon_budget: 0,
      total_delta_budget: 1e-5,
      current_epsilon_spent: 0,
      epsilon_remaining: 0,
      is_exhausted: false,
      rounds_tracked: 0,
      is_set: false,
      epsilon_committed: 0,
      accountant: 'rdp',
    }
    expect(await send(beta, 'GET', `/federations/${id}/privacy`)).toEqual({ status: 200, body: unset })
    const set = { ...unset, total_epsilon_budget: 8, epsilon_remaining: 8, is_set: true }
    expect(await send(acme, 'PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 8 })).toEqual({
      status: 200,
      body: set,
    })
    const requested = { total_epsilon_budget: 0.5, total_delta_budget: 1e-7 }
    expect(await send(acme, 'PUT', `/federations/${id}/privacy/budget`, requested)).toEqual({
      status: 200,
      body: { ...set, ...requested, epsilon_remaining: 0.5 },
    })
    expect((await send(beta, 'GET', `/federations/${id}/privacy`)).body).toMatchObject(requested)
  })

  it('warns if a request without delta resets it to the default, and of a delta so high that epsilon means nothing', async () => {
    const { world, admin, found } = await openFederation()
    const path = `/api/v1/federations/${await found()}/privacy/budget`
    const set = async (body: object) => {
      const { status, headers } = await world.request('PUT', path, { key: admin, body })
      return [status, headers.get('x-service-warning')]
    }
    const delta = 'total_delta_budget is now 0.00001, its default; it was 1e-9'
    expect(await set({ total_epsilon_budget: 5 })).toEqual([200, null])
    expect(await set({ total_epsilon_budget: 5, total_delta_budget: 1e-9 })).toEqual([200, null])
    expect(await set({ total_epsilon_budget: 6 })).toEqual([200, delta])
    expect(await set({ total_epsilon_budget: 7 })).toEqual([200, null])
    const high =
      'total_delta_budget 0.9 makes epsilon meaningless: choose less than 1 / the number of devices, such as 1e-5'
    expect(await set({ total_epsilon_budget: 7, total_delta_budget: 0.9 })).toEqual([200, high])
  })

  it('rejects invalid values and names the field', async () => {
    const { admin, send, found } = await openFederation()
    const id = await found()
    for (const [body, field] of [
      [{}, 'total_epsilon_budget'],
      [{ total_epsilon_budget: 0 }, 'total_epsilon_budget'],
      [{ total_epsilon_budget: -1 }, 'total_epsilon_budget'],
      [{ total_epsilon_budget: '1' }, 'total_epsilon_budget'],
      [{ total_epsilon_budget: 1, total_delta_budget: 0 }, 'total_delta_budget'],
      [{ total_epsilon_budget: 1, total_delta_budget: 1 }, 'total_delta_budget'],
    ] as const) {
      const response = await send(admin, 'PUT', `/federations/${id}/privacy/budget`, body)
      expect(response).toMatchObject({ status: 400, body: { message: expect.stringContaining(field) } })
    }
  })

  it('can be used for estimates that record nothing', async () => {
    const { admin, send, found } = await openFederation()
    const id = await found()
    await send(admin, 'PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 2 })
    const ask = async (query: string) => (await send(admin, 'GET', `/federations/${id}/privacy/estimate?${query}`)).body
    const one = await ask('noise_multiplier=1.1&sample_rate=0.1')
    expect(one).toEqual({
      current_epsilon: 0,
      projected_epsilon: expect.closeTo(1.35903, 3),
      round_epsilon_cost: expect.closeTo(1.35903, 3),
      would_exceed_budget: false,
      budget_epsilon: 2,
      target_delta: 1e-5,
      accountant: 'pld',
      projected_epsilon_rdp: expect.closeTo(1.771173, 6),
      projected_epsilon_pld: expect.closeTo(1.35903, 3),
    })
    expect(await ask('noise_multiplier=1.1&sample_rate=0.1&num_steps=10')).toMatchObject({
      projected_epsilon: expect.closeTo(2.350306, 3),
      projected_epsilon_rdp: expect.closeTo(2.837926, 6),
      would_exceed_budget: true,
    })
    expect(await ask('noise_multiplier=1&sample_rate=1&target_delta=0.001')).toMatchObject({ target_delta: 0.001 })
    expect(await ask('noise_multiplier=1.1&sample_rate=0.1')).toEqual(one)
    expect((await send(admin, 'GET', `/federations/${id}/privacy/history`)).body).toEqual({
      federation_id: id,
      history: [],
      target_delta: 1e-5,
      total: 0,
      limit: 100,
      offset: 0,
    })
  })

  it('rejects estimates for invalid rounds and names the field', async () => {
    const { admin, send, found } = await openFederation()
    const id = await found()
    for (const [query, field] of [
      ['sample_rate=0.1', 'noise_multiplier'],
      ['noise_multiplier=0&sample_rate=0.1', 'noise_multiplier'],
      ['noise_multiplier=1', 'sample_rate'],
      ['noise_multiplier=1&sample_rate=0', 'sample_rate'],
      ['noise_multiplier=1&sample_rate=1.1', 'sample_rate'],
      ['noise_multiplier=1&sample_rate=1&num_steps=0', 'num_steps'],
      ['noise_multiplier=1&sample_rate=1&target_delta=0', 'target_delta'],
      ['noise_multiplier=1&sample_rate=1&target_delta=1', 'target_delta'],
    ] as const) {
      const response = await send(admin, 'GET', `/federations/${id}/privacy/estimate?${query}`)
      expect(response).toMatchObject({ status: 400, body: { message: expect.stringContaining(field) } })
    }
  })

  it('gives the noise that a plan needs, and the number of rounds left', async () => {
    const { admin, send, found } = await openFederation()
    const id = await found()
    await send(admin, 'PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 2.36 })
    const ask = async (path: string) => (await send(admin, 'GET', `/federations/${id}/privacy/${path}`)).body
    expect(await ask('rounds-left?noise_multiplier=1.1&sample_rate=0.1')).toEqual({
      federation_id: id,
      rounds_left: 10,
      budget_epsilon: 2.36,
      target_delta: 1e-5,
      current_epsilon: 0,
    })
    const plan = await ask('noise-for-epsilon?sample_rate=0.1&num_steps=10')
    expect(plan).toEqual({
      federation_id: id,
      noise_multiplier: expect.any(Number),
      target_epsilon: 2.36,
      target_delta: 1e-5,
      sample_rate: 0.1,
      num_steps: 10,
      current_epsilon: 0,
    })
    expect(plan.noise_multiplier).toBeGreaterThan(1.09)
    expect(plan.noise_multiplier).toBeLessThan(1.1)
    expect(await ask('noise-for-epsilon?sample_rate=0.1&num_steps=10&target_epsilon=1')).toMatchObject({
      target_epsilon: 1,
    })
  })
})

it('a federation without a budget gets that reason when it asks what fits', async () => {
  const { world, admin, send, found } = await openFederation()
  const id = await found()
  const message =
    `Federation ${id} has no privacy budget, so no private round can start. Set one first: ` +
    `PUT /api/v1/federations/${id}/privacy/budget.`
  const quiet = 'noise_multiplier=1e6&sample_rate=1e-9'
  for (const question of [`rounds-left?${quiet}`, 'noise-for-epsilon?sample_rate=0.1&num_steps=10'])
    expect(await send(admin, 'GET', `/federations/${id}/privacy/${question}`)).toMatchObject({
      status: 409,
      body: { error: 'conflict', message },
    })
  const path = `/api/v1/federations/${id}/privacy/estimate?${quiet}`
  const estimate = await world.request('GET', path, { key: admin })
  expect(estimate).toMatchObject({ status: 200, body: { would_exceed_budget: true, budget_epsilon: 0 } })
  expect(estimate.headers.get('x-service-warning')).toBe(message)
  const named = 'noise-for-epsilon?sample_rate=0.1&num_steps=10&target_epsilon=1'
  expect(await send(admin, 'GET', `/federations/${id}/privacy/${named}`)).toMatchObject({ status: 200 })
})

describe('the history of a privacy budget', () => {
  const open = async () => {
    const database = await openTestDatabase()
    let at = start
    const now = () => at
    const events = createEventBus<Executor, ControlEvents>(console)
    const context = { database, accounting, events, now, newId: randomUUID }
    const ledger = createLedger(context)
    const changed = async () => undefined
    const federations = createFederationsService(context, { changed })
    const privacy = createPrivacyService(context, { ledger, federations, changed })
    const forecasts = createPrivacyForecasts(context, { ledger, federations })
    const owner: Caller = { keyId: 'k', orgId: 'acme', deviceId: null, grants: ['training:read', 'training:write'] }
    const { federation } = await federations.create(owner, { name: 'league', orgId: 'acme', description: '' })
    await privacy.setBudget(owner, federation.id, { epsilon: 8, delta: 1e-5 })
    const reserve = async (noiseMultiplier: number, sampleRate: number) => {
      const roundId = randomUUID()
      await ledger.withQuote(owner, federation.id, { noiseMultiplier, sampleRate, steps: 1 }, (quote) =>
        database.transaction((tx) => ledger.reserve(tx, quote, { roundId, jobId: null, clipNorm: 1 })),
      )
      return roundId
    }
    const settle = async (roundId: string) => {
      at = new Date(at.getTime() + 60_000)
      await database.transaction((tx) => ledgerStore.settle(tx, roundId, now()))
    }
    const history = async (page = { limit: 100, offset: 0 }) => {
      const { entries } = await privacy.history(owner, federation.id, page)
      return entries.map((one) => [one.roundId, one.status, one.epsilonCost, one.epsilonAfter, one.accountant])
    }
    return { privacy, forecasts, owner, id: federation.id, reserve, settle, history }
  }

  it('shows rounds in the order of their ends, with what each added; reserved ones come last, released ones are omitted', async () => {
    const { privacy, owner, id, reserve, settle, history } = await open()
    const [a, b, c] = [await reserve(1.1, 0.1), await reserve(2, 0.5), await reserve(5, 0.01)]
    await settle(b)
    await settle(a)
    const first = expect.closeTo(1.353573, 3)
    const both = expect.closeTo(1.670014, 3)
    const entries = [
      [b, 'settled', first, first, 'pld'],
      [a, 'settled', expect.any(Number), both, 'pld'],
      [c, 'reserved', null, null, null],
    ]
    expect(await history()).toEqual(entries)
    // The costs are stored now: reads them again, and from the middle.
    expect(await history()).toEqual(entries)
    expect(await history({ limit: 1, offset: 1 })).toEqual([entries[1]])
    const state = await privacy.state(owner, id)
    expect(state).toMatchObject({ epsilonSpent: both, roundsTracked: 2, accountant: 'pld' })
    expect(state.epsilonCommitted).toBeGreaterThanOrEqual(state.epsilonSpent)
  })

  it("is computed again if the budget's delta changes", async () => {
    const { privacy, forecasts, owner, id, reserve, settle, history } = await open()
    await settle(await reserve(1, 1))
    expect((await history())[0]?.[3]).toBeCloseTo(4.377178, 6)
    await privacy.setBudget(owner, id, { epsilon: 1, delta: 1e-3 })
    const [after] = await history()
    expect(after?.[3]).toBeCloseTo((await privacy.state(owner, id)).epsilonSpent, 12)
    expect(after?.[3]).toBeLessThan(3.6)
    expect(
      await forecasts.roundsLeft(owner, id, { noiseMultiplier: 5, sampleRate: 0.1, steps: 1 }, undefined),
    ).toMatchObject({
      rounds: 0,
    })
  })

  it('includes reserved rounds in estimates', async () => {
    const { forecasts, owner, id, reserve } = await open()
    await reserve(1.1, 0.1)
    const estimate = await forecasts.estimate(owner, id, { noiseMultiplier: 2, sampleRate: 0.5, steps: 1 }, undefined)
    expect(estimate.currentEpsilon).toBeCloseTo(1.35903, 3)
    expect(estimate.projectedEpsilon).toBeCloseTo(1.67, 3)
  })
})
