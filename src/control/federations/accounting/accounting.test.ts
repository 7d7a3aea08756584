import { getEventListeners } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { privacyLoss } from '../../../domain/privacy/accountant.ts'
import { type ACCOUNTING_LIMITS, Accounting } from './accounting.ts'
import type { AccountingRequest } from './accounting-requests.ts'
import { FairQueue } from './fair-queue.ts'

const open = (limits: Partial<typeof ACCOUNTING_LIMITS> = {}) => {
  const accounting = new Accounting(limits)
  onTestFinished(() => accounting.close())
  return accounting
}

const acme = { orgId: 'acme' }
const beta = { orgId: 'beta' }
const loss = (noiseMultiplier: number, steps = 1): Extract<AccountingRequest, { kind: 'loss' }> => ({
  kind: 'loss',
  spent: [],
  more: [{ noiseMultiplier, sampleRate: 0.1, steps }],
  delta: 1e-5,
  enough: null,
})
/** A computation that takes some tenths of a second. */
const long = (n: number) => loss(2 + n / 1000, 1e8)

/** Starts both threads first, so that their startup time does not affect the test. */
const warm = async (limits: Partial<typeof ACCOUNTING_LIMITS> = {}) => {
  const accounting = open(limits)
  await Promise.all([accounting.ask<'loss'>(acme, loss(0.8)), accounting.ask<'loss'>(beta, loss(0.9))])
  return accounting
}

describe('privacy accounting on threads', () => {
  it('answers each kind of question like the accountant', async () => {
    const accounting = open()
    expect(await accounting.ask<'loss'>(acme, loss(1.1, 10))).toEqual(privacyLoss(loss(1.1, 10).more, 1e-5))
    const round = { noiseMultiplier: 1.1, sampleRate: 0.1, steps: 1 }
    expect(await accounting.ask<'rounds'>(acme, { kind: 'rounds', spent: [], epsilon: 2.36, delta: 1e-5, round })).toBe(
      10,
    )
    const requested = { kind: 'noise', spent: [], epsilon: 2.36, delta: 1e-5, sampleRate: 0.1, steps: 10 } as const
    expect(await accounting.ask<'noise'>(acme, requested)).toBeCloseTo(1.096, 2)
  })

  it('lets organizations take turns: one question does not wait for sixty from another organization', async () => {
    const accounting = await warm({ queuedPerOrg: 60 })
    const order: string[] = []
    const ask = (requester: typeof acme, n: number) =>
      accounting.ask<'loss'>(requester, loss(3 + n / 100)).then(() => order.push(requester.orgId))
    await Promise.all([...Array.from({ length: 60 }, (_, n) => ask(acme, n)), ask(beta, 100), ask(beta, 101)])
    expect(order.lastIndexOf('beta')).toBeLessThan(50)
  })

  it('answers one organization while a long question of another is being answered', async () => {
    const accounting = await warm()
    const gone = new AbortController()
    const search = { kind: 'noise', spent: [], epsilon: 1, delta: 1e-5, sampleRate: 1e-9, steps: 1e9 } as const
    const ends: string[] = []
    const slow = accounting.ask<'noise'>({ ...acme, signal: gone.signal }, search).finally(() => ends.push('slow'))
    const behind = accounting.ask<'loss'>(acme, loss(4)).then(() => ends.push('behind'))
    await accounting.ask<'loss'>(beta, loss(5))
    expect(ends).toEqual([])
    gone.abort(new Error('gone'))
    await expect(slow).rejects.toThrow('gone')
    await behind
    expect(ends).toEqual(['slow', 'behind'])
  })

  it('gives each key without an organization its own turn', async () => {
    const accounting = open({ queuedPerOrg: 1 })
    const requested = ['k1', 'k1', 'k1', 'k2'].map((keyId, n) =>
      accounting.ask<'loss'>({ orgId: null, keyId }, loss(5 + n)).then(
        () => keyId,
        (error: Error) => error.message.slice(0, 8),
      ),
    )
    expect(await Promise.all(requested)).toEqual(['k1', 'k1', 'Too many', 'k2'])
  })

  it("refuses questions beyond an organization's queue, and answers all that it accepted", async () => {
    const accounting = open({ queuedPerOrg: 3 })
    const requested = await Promise.allSettled(
      Array.from({ length: 6 }, (_, n) => accounting.ask<'loss'>(acme, loss(1 + n / 10))),
    )
    // One question is being answered and three wait; the other thread is reserved for other organizations.
    expect(requested.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected', 'rejected'])
    expect(requested.at(-1)).toMatchObject({ reason: { code: 'rate_limited', retryAfterSeconds: 2 } })
    await accounting.ask<'loss'>(acme, loss(9))
  })

  it('refuses questions beyond the total queue', async () => {
    const accounting = open({ queued: 1 })
    const requested = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((orgId, n) => accounting.ask<'loss'>({ orgId }, loss(1 + n))),
    )
    expect(requested.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  })

  it('computes identical questions once, whichever organization asks them', async () => {
    const accounting = open({ queuedPerOrg: 1 })
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => accounting.ask<'loss'>(n < 10 ? acme : beta, loss(1.3))),
    )
    expect(new Set(responses).size).toBe(1)
    expect(await accounting.ask<'loss'>(beta, loss(1.3))).toBe(responses[0])
  })

  it('evicts the answers that were not requested recently', async () => {
    const accounting = open({ kept: 2 })
    const first = await accounting.ask<'loss'>(acme, loss(1))
    await accounting.ask<'loss'>(acme, loss(2))
    expect(await accounting.ask<'loss'>(acme, loss(1))).toBe(first)
    await accounting.ask<'loss'>(acme, loss(3))
    expect(await accounting.ask<'loss'>(acme, loss(1))).toBe(first)
    await accounting.ask<'loss'>(acme, loss(2))
    await accounting.ask<'loss'>(acme, loss(4))
    const again = await accounting.ask<'loss'>(acme, loss(1))
    expect(again).not.toBe(first)
    expect(again).toEqual(first)
  })

  it('stops a question that takes too long, and answers the next one', async () => {
    const accounting = open({ seconds: 0 })
    await expect(accounting.ask<'loss'>(acme, long(0))).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('took longer than 0 s'),
    })
    const patient = open()
    expect(await patient.ask<'loss'>(acme, loss(1))).toMatchObject({ accountant: 'pld' })
  })

  it('drops a question that no request waits for any more, whether it is queued or being answered', async () => {
    const accounting = open({ abandonedSeconds: 0 })
    const [running, waiting, shared] = [new AbortController(), new AbortController(), new AbortController()]
    const gone = new Error('gone')
    const requested = [
      accounting.ask<'loss'>({ ...acme, signal: running.signal }, long(0)),
      accounting.ask<'loss'>({ ...acme, signal: waiting.signal }, long(1)),
      accounting.ask<'loss'>({ ...acme, signal: shared.signal }, loss(2)),
      accounting.ask<'loss'>(acme, loss(2)),
    ]
    for (const controller of [running, waiting, shared]) controller.abort(gone)
    const ends = await Promise.allSettled(requested)
    expect(ends.map((end) => (end.status === 'rejected' ? end.reason : end.status))).toEqual([
      gone,
      gone,
      gone,
      'fulfilled',
    ])
    await expect(accounting.ask<'loss'>({ ...acme, signal: running.signal }, loss(2))).rejects.toBe(gone)
  })

  it('leaves nothing in the signal of a request that asks many questions', async () => {
    const accounting = open()
    const { signal } = new AbortController()
    for (const steps of [1, 2]) await accounting.ask<'loss'>({ ...acme, signal }, loss(1.5, steps))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('ends with the service, and rejects all waiting questions with that reason', async () => {
    const accounting = open()
    const requested = [long(0), long(1)].map((question) => accounting.ask<'loss'>(acme, question))
    const ends = Promise.allSettled(requested)
    await accounting.close()
    for (const end of await ends)
      expect(end).toMatchObject({
        reason: { code: 'rate_limited', message: 'The service is shutting down. Try again in 2 s.' },
      })
    await expect(accounting.ask<'loss'>(acme, loss(1))).rejects.toThrow('The service is shutting down.')
  })

  it('reports an error from the thread, and continues', async () => {
    const accounting = open()
    const wrong = { ...loss(1), more: null } as unknown as ReturnType<typeof loss>
    await expect(accounting.ask<'loss'>(acme, wrong)).rejects.toThrow('TypeError')
    expect(await accounting.ask<'loss'>(acme, loss(1))).toMatchObject({ accountant: 'pld' })
  })
})

it('turns rotate among organizations, each with its oldest question first', () => {
  const turns = new FairQueue<{ key: string }>()
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) turns.add(key[0]!, { key })
  turns.remove('a', { key: 'a2' })
  turns.remove('a', { key: 'a2' })
  expect([turns.size, turns.sizeOf('a'), turns.sizeOf('d'), turns.find('b', 'b2')]).toEqual([5, 2, 0, { key: 'b2' }])
  expect(turns.next(new Set(['a']))).toEqual({ org: 'b', item: { key: 'b1' } })
  const order = Array.from({ length: 5 }, () => turns.next()?.item.key)
  expect(order).toEqual(['a1', 'c1', 'b2', 'a3', undefined])
  expect(turns.size).toBe(0)
})
