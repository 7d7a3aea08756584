import { describe, expect, test } from 'vitest'
import { createRateLimiter, type RateLimiter, type RateLimitSync } from './rate-limiter.ts'
import type { RouteConfig } from './route-config.ts'
import { bearer, buildTestServer } from './test-server.fixture.ts'

const MINUTE = 60_000
/** The beginning of a clock minute. */
const START = 29_000_000 * MINUTE

const take = (limiter: RateLimiter, key: string, times: number): number => {
  let allowed = 0
  for (let i = 0; i < times; i++) if (limiter.take(key).allowed) allowed++
  return allowed
}

const limiterAt = (clock: { now: number }, perMinute = 100, more: object = {}): RateLimiter =>
  createRateLimiter({ perMinute, now: () => clock.now, ...more })

describe('one process', () => {
  test('allows exactly the limit, and reports the remainder, when the first request no longer counts, and when to retry', () => {
    const clock = { now: START + 15_000 }
    const limiter = limiterAt(clock, 3)
    expect([1, 2, 3, 4].map(() => limiter.take('a'))).toEqual([
      { allowed: true, limit: 3, remaining: 2, resetSeconds: 61, retryAfterSeconds: 0 },
      { allowed: true, limit: 3, remaining: 1, resetSeconds: 61, retryAfterSeconds: 0 },
      { allowed: true, limit: 3, remaining: 0, resetSeconds: 61, retryAfterSeconds: 0 },
      { allowed: false, limit: 3, remaining: 0, resetSeconds: 61, retryAfterSeconds: 61 },
    ])
  })

  test('counts keys separately', () => {
    const limiter = limiterAt({ now: START }, 2)
    expect([take(limiter, 'a', 5), take(limiter, 'b', 1)]).toEqual([2, 1])
  })

  test.each([0, 1000, 20_500, 57_000, 59_900])(
    'after a burst %d ms into a minute, no 60 seconds have more than the limit',
    (offset) => {
      const clock = { now: START + offset }
      const limiter = limiterAt(clock)
      expect(take(limiter, 'a', 200)).toBe(100)
      const end = clock.now + 4 * MINUTE
      const accepted = Array.from({ length: 100 }, () => clock.now)
      while ((clock.now += 100) < end) if (limiter.take('a').allowed) accepted.push(clock.now)
      expect(accepted.slice(100).filter((time, at) => time - accepted[at]! < MINUTE)).toEqual([])
      expect(accepted.length).toBeGreaterThanOrEqual(400)
    },
  )

  test('forgets requests after a minute, and all of them when the clock was set back', () => {
    const clock = { now: START }
    const limiter = limiterAt(clock)
    take(limiter, 'a', 60)
    clock.now += 30_000
    expect(take(limiter, 'a', 200)).toBe(40)
    clock.now += 31_000
    expect(take(limiter, 'a', 200)).toBe(60)
    clock.now = START - 60 * MINUTE
    expect(take(limiter, 'a', 200)).toBe(100)
  })

  test('accepts a request after exactly the time in Retry-After, and none a second earlier', () => {
    for (const [used, first, seconds] of [
      [0, 100, 0],
      [80, 20, 30],
      [100, 50, 7.4],
      [37, 90, 59.999],
    ] as const) {
      const clock = { now: START + 250 }
      const limiter = limiterAt(clock)
      take(limiter, 'a', used)
      clock.now += seconds * 1000
      take(limiter, 'a', first)
      const { allowed, resetSeconds, retryAfterSeconds } = limiter.take('a')
      expect([allowed, resetSeconds]).toEqual([false, retryAfterSeconds])
      const refusedAt = clock.now
      clock.now = refusedAt + (retryAfterSeconds - 1) * 1000
      expect(limiter.take('a').allowed).toBe(false)
      clock.now = refusedAt + retryAfterSeconds * 1000
      expect(limiter.take('a').allowed).toBe(true)
    }
  })

  test('bounds the number of keys held, evicting the least recently used', () => {
    const limiter = limiterAt({ now: START }, 1, { maxKeys: 2 })
    take(limiter, 'a', 1)
    take(limiter, 'b', 1)
    take(limiter, 'b', 1)
    take(limiter, 'c', 1)
    expect([take(limiter, 'c', 1), take(limiter, 'b', 1), take(limiter, 'a', 1)]).toEqual([0, 0, 1])
  })
})

describe('several processes', () => {
  /** Behaves like a shared table. */
  const sharedCounts = (): RateLimitSync & { readonly totals: Map<string, number>; calls: number } => {
    const totals = new Map<string, number>()
    return {
      totals,
      calls: 0,
      async exchange(deltas) {
        this.calls++
        for (const [name, delta] of deltas) totals.set(name, (totals.get(name) ?? 0) + delta)
        return new Map([...deltas.keys()].map((name) => [name, totals.get(name)!]))
      },
    }
  }

  test('limit a busy key across all of them', async () => {
    const clock = { now: START }
    const sync = sharedCounts()
    const [one, two] = [limiterAt(clock, 100, { sync }), limiterAt(clock, 100, { sync })]
    expect([take(one, 'a', 60), take(two, 'a', 30)]).toEqual([60, 30])
    await one.exchange()
    await two.exchange()
    expect([...sync.totals]).toEqual([[`a@${START / MINUTE}`, 90]])
    expect(take(two, 'a', 50)).toBe(10)
    await two.exchange()
    take(one, 'a', 1)
    await one.exchange()
    expect(take(one, 'a', 50)).toBe(0)
    clock.now += 59_000
    expect([take(one, 'a', 50), take(two, 'a', 50)]).toEqual([0, 0])
  })

  test('do not exchange counts of rarely used keys', async () => {
    const sync = sharedCounts()
    const limiter = limiterAt({ now: START }, 100, { sync })
    take(limiter, 'a', 24)
    await limiter.exchange()
    expect(sync.calls).toBe(0)
    take(limiter, 'a', 1)
    await limiter.exchange()
    expect([...sync.totals.values()]).toEqual([25])
    await limiter.exchange()
    expect(sync.calls).toBe(1)
  })

  test.each([
    [95, 0.3],
    [90, 0.45],
    [70, 0.37],
    [95, 0.5],
  ])('never refuse even traffic below the limit: %d a minute, %d of it to one', async (perMinute, share) => {
    const clock = { now: START }
    const sync = sharedCounts()
    const limiters = [limiterAt(clock, 100, { sync }), limiterAt(clock, 100, { sync })]
    const refused: number[] = []
    let sent = 0
    for (let second = 0; second < 300; second++) {
      for (; sent < (second * perMinute) / 60; sent++) {
        const toFirst = Math.floor((sent + 1) * share) > Math.floor(sent * share)
        if (!limiters[toFirst ? 0 : 1]!.take('a').allowed) refused.push(second)
      }
      for (const limiter of limiters) await limiter.exchange()
      clock.now += 1000
    }
    expect(refused).toEqual([])
  })

  test('count requests of others, when they are unknown, evenly since the last exchange', async () => {
    const clock = { now: START }
    const sync = sharedCounts()
    const [one, two] = [limiterAt(clock, 100, { sync }), limiterAt(clock, 100, { sync })]
    take(two, 'a', 40)
    await two.exchange()
    clock.now += 39_000
    take(one, 'a', 60)
    await one.exchange()
    const { remaining, retryAfterSeconds } = one.look('a')
    expect([remaining, retryAfterSeconds]).toEqual([0, 22])
    clock.now += 41_000
    expect(take(one, 'a', 100)).toBe(20)
  })

  test('count requests of others not before an earlier exchange', async () => {
    const clock = { now: START }
    const sync = sharedCounts()
    const [one, two] = [limiterAt(clock, 100, { sync }), limiterAt(clock, 100, { sync })]
    take(one, 'a', 25)
    await one.exchange()
    clock.now += 50_000
    take(one, 'a', 1)
    await one.exchange()
    take(two, 'a', 40)
    await two.exchange()
    clock.now += 1000
    take(one, 'a', 1)
    await one.exchange()
    // All but the first 25 still count.
    clock.now += 29_000
    expect(take(one, 'a', 100)).toBe(58)
  })

  test('forget the requests before the clock was set back, also during an exchange', async () => {
    const clock = { now: START }
    const sync = sharedCounts()
    const limiter = limiterAt(clock, 100, { sync })
    sync.totals.set(`a@${START / MINUTE}`, 50)
    take(limiter, 'a', 60)
    clock.now -= 60 * MINUTE
    await limiter.exchange()
    expect(take(limiter, 'a', 100)).toBe(50)
    clock.now += 61_000
    expect(take(limiter, 'a', 200)).toBe(100)
  })

  test('send counts that could not be exchanged again', async () => {
    const sync = sharedCounts()
    let broken = true
    const limiter = limiterAt({ now: START }, 100, {
      sync: {
        async exchange(deltas: ReadonlyMap<string, number>) {
          if (broken) throw new Error('no connection')
          return sync.exchange(deltas)
        },
      },
    })
    take(limiter, 'a', 40)
    await expect(limiter.exchange()).rejects.toThrow('no connection')
    take(limiter, 'a', 2)
    broken = false
    await limiter.exchange()
    expect([...sync.totals.values()]).toEqual([42])
  })

  test('count requests that arrive during an exchange only once', async () => {
    const sync = sharedCounts()
    let respond = (): void => undefined
    const limiter = limiterAt({ now: START }, 100, {
      sync: {
        async exchange(deltas: ReadonlyMap<string, number>) {
          const totals = await sync.exchange(deltas)
          await new Promise<void>((resolve) => {
            respond = resolve
          })
          return totals
        },
      },
    })
    take(limiter, 'a', 50)
    const first = limiter.exchange()
    take(limiter, 'a', 10)
    await new Promise((resolve) => setImmediate(resolve))
    respond()
    await first
    expect(limiter.take('a').remaining).toBe(39)
  })
})

describe('over HTTP', () => {
  const GUARDED: RouteConfig = { access: 'any-key' }
  const OPEN: RouteConfig = { access: 'public' }
  const PROBE: RouteConfig = { access: 'public', rateLimit: false }

  const start = (perMinute: number, more: { trustProxy?: readonly string[] } = {}) =>
    buildTestServer(
      (app) => {
        app.get('/mine', { config: GUARDED }, async () => ({}))
        app.get('/open', { config: OPEN }, async () => ({}))
        app.get('/probe', { config: PROBE }, async () => ({}))
        app.get('/forbidden', { config: { access: 'admin' } satisfies RouteConfig }, async () => ({}))
      },
      { rateLimit: { perMinute, guessesPerMinute: perMinute }, ...more },
    )

  test('a request over the limit is 429 with Retry-After and the RateLimit headers; other keys are unaffected', async () => {
    const { app, clock } = await start(3)
    const get = (who: 'reader' | 'writer') => app.inject({ url: '/mine', headers: bearer(who) })
    const left = []
    for (let i = 0; i < 3; i++) left.push((await get('reader')).headers['ratelimit-remaining'])
    expect(left).toEqual(['2', '1', '0'])

    clock.now += 10_000
    const refused = await get('reader')
    expect([refused.statusCode, refused.json()]).toEqual([
      429,
      { error: 'rate_limited', message: 'Too many requests. Try again in 51 s.', status_code: 429 },
    ])
    expect(refused.headers).toMatchObject({
      'retry-after': '51',
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '51',
    })
    expect((await get('writer')).statusCode).toBe(200)
    clock.now += 51_000
    expect((await get('reader')).statusCode).toBe(200)
    await app.close()
  })

  test('public routes are limited per address at ten times the rate, separately from keys; probes are not limited', async () => {
    const { app } = await start(1)
    const statuses = async (url: string, times: number) => {
      const seen = []
      for (let i = 0; i < times; i++) seen.push((await app.inject(url)).statusCode)
      return seen
    }
    expect(await statuses('/open', 11)).toEqual([...Array.from({ length: 10 }, () => 200), 429])
    expect(await statuses('/probe', 20)).toEqual(Array.from({ length: 20 }, () => 200))
    expect((await app.inject({ url: '/mine', headers: bearer('reader') })).statusCode).toBe(200)
    await app.close()
  })

  const GUESS = { authorization: 'Bearer sk_live_guess' }
  const TOO_MANY = (seconds: number) => ({
    error: 'rate_limited',
    message: `Too many requests with keys that are not valid came from this address. Try again in ${seconds} s.`,
    status_code: 429,
  })

  test('an address that sends too many invalid keys must wait, and no new key is accepted from it', async () => {
    const { app, clock } = await start(3)
    const get = (headers: object) => app.inject({ url: '/mine', headers: { ...headers } })
    const statuses = []
    for (const headers of [GUESS, { authorization: 'Basic abc' }, bearer('expired'), GUESS, bearer('reader')]) {
      statuses.push((await get(headers)).statusCode)
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    const refused = await get(GUESS)
    expect([refused.headers['retry-after'], refused.json()]).toEqual(['61', TOO_MANY(61)])
    clock.now += 61_000
    expect([(await get(bearer('reader'))).statusCode, (await get(GUESS)).statusCode]).toEqual([200, 401])
  })

  test('a key that was valid before still works from an address that guesses; requests without a key do not count', async () => {
    const { app } = await start(2)
    const status = async (headers: object) => (await app.inject({ url: '/mine', headers: { ...headers } })).statusCode
    expect(await status(bearer('reader'))).toBe(200)
    for (let i = 0; i < 5; i++) expect(await status({})).toBe(401)
    expect([await status(GUESS), await status(GUESS), await status(GUESS)]).toEqual([401, 401, 429])
    expect([await status(bearer('reader')), await status({})]).toEqual([200, 401])
  })

  test('behind a trusted proxy each client is counted separately, and cannot choose its own address', async () => {
    const { app } = await start(1)
    const behind = await start(1, { trustProxy: ['loopback'] })
    const chained = await start(1, { trustProxy: ['127.0.0.0/8', '203.0.113.7'] })
    const guess = async (server: typeof app, forwarded: string) =>
      (await server.inject({ url: '/mine', headers: { ...GUESS, 'x-forwarded-for': forwarded } })).statusCode
    expect([await guess(app, '192.0.2.1'), await guess(app, '192.0.2.2')]).toEqual([401, 429])
    const seen = []
    for (const from of ['192.0.2.1', '192.0.2.2', '198.51.100.9, 192.0.2.1']) seen.push(await guess(behind.app, from))
    expect(seen).toEqual([401, 401, 429])
    const beyond = []
    for (const from of ['192.0.2.1, 203.0.113.7', '192.0.2.2, 203.0.113.7']) beyond.push(await guess(chained.app, from))
    expect(beyond).toEqual([401, 401])
  })

  test('forbidden requests also count, and requests without a key do not count toward any key', async () => {
    const { app } = await start(2)
    const status = async (url: string) => (await app.inject({ url, headers: bearer('reader') })).statusCode
    for (let i = 0; i < 30; i++) expect((await app.inject('/mine')).statusCode).toBe(401)
    expect([await status('/forbidden'), await status('/forbidden'), await status('/mine')]).toEqual([403, 403, 429])
    await app.close()
  })
})
