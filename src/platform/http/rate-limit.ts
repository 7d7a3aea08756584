import type { FastifyReply } from 'fastify'
import { LRUCache } from 'lru-cache'
import { rateLimited, ServiceError } from '../../domain/errors.ts'
import type { Admit, GuessLimit } from './access.ts'
import type { App } from './app.ts'

const MINUTE_MS = 60_000
/** Requests of the current second and the 60 before it count, so that no 60 seconds have more than the limit. */
const COUNTED_SECONDS = 61
const EXCHANGE_MS = 1000
/** Requests to public routes and with invalid keys are counted per address, which many devices may share. */
const ADDRESS_SHARE = 10
/** A key's counts are exchanged with other processes once they reach this share of the limit. */
const HOT = 0.25
/** About 35 MB. An evicted key's count restarts, which only a flood of other valid keys can cause. */
const MAX_KEYS = 100_000

/**
 * Lets several processes share one limit without a lookup per request. Called once a second with this process's counts since
 * the last call, for busy keys only; adds them up and returns the totals over all processes. The names are opaque,
 * `<key>@<minute>`, and may be forgotten after two minutes.
 */
export interface RateLimitSync {
  exchange(deltas: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>
}

interface Count {
  /** Pairs of a second and its requests, oldest first: our own and, after an exchange, those of the other processes. */
  readonly seconds: number[]
  /** The sum over `seconds`. */
  requests: number
  minute: number
  /** The requests of this minute that have been exchanged, over all processes. */
  exchanged: number
  unreported: number
}

export interface Verdict {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Until the oldest request no longer counts. */
  readonly resetSeconds: number
  /** Until one more request is allowed; 0 if this one was. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  /** Counts one request; refused requests do not count. */
  take(key: string): Verdict
  /** Returns what `take` would return now, without counting. */
  look(key: string): Verdict
  exchange(): Promise<void>
}

const add = (count: Count, second: number, requests: number): void => {
  const { seconds } = count
  count.requests += requests
  if (seconds.at(-2) === second) seconds[seconds.length - 1]! += requests
  else seconds.push(second, requests)
}

/** Forgets what no longer counts, and everything if the clock was set back. */
const forget = (count: Count, second: number): void => {
  const { seconds } = count
  let past = 0
  while (past < seconds.length && (seconds[past]! <= second - COUNTED_SECONDS || seconds.at(-2)! > second)) {
    count.requests -= seconds[past + 1]!
    past += 2
  }
  if (past > 0) seconds.splice(0, past)
}

/** Whole seconds until at most `left` of the requests still count. */
const secondsUntil = ({ seconds, requests }: Count, left: number, time: number): number => {
  let counted = requests
  let at = 0
  while (counted > left && at < seconds.length) {
    counted -= seconds[at + 1]!
    at += 2
  }
  return at === 0 ? 0 : Math.ceil(seconds[at - 2]! + COUNTED_SECONDS - time / 1000)
}

/** Counts requests by the second in which they arrive. */
export const createRateLimiter = (options: {
  readonly perMinute: number
  readonly now: () => number
  readonly sync?: RateLimitSync | null
  readonly maxKeys?: number
}): RateLimiter => {
  const { perMinute: limit, now, sync = null } = options
  // Not `max`, which allocates space for all entries at once, 1.2 MB per 100,000.
  const counts = new LRUCache<string, Count>({ maxSize: options.maxKeys ?? MAX_KEYS, sizeCalculation: () => 1 })
  const hot = new Set<string>()

  const countOf = (key: string, time: number): Count => {
    const minute = Math.floor(time / MINUTE_MS)
    let count = counts.get(key)
    if (count === undefined) {
      count = { seconds: [], requests: 0, minute, exchanged: 0, unreported: 0 }
      counts.set(key, count)
    } else if (count.minute !== minute) {
      count.minute = minute
      count.exchanged = 0
      count.unreported = 0
    }
    return count
  }

  const judge = (key: string, counted: boolean): Verdict => {
    const time = now()
    const second = Math.floor(time / 1000)
    const count = countOf(key, time)
    forget(count, second)
    const left = limit - count.requests
    const allowed = left > 0
    if (allowed && counted) {
      add(count, second, 1)
      count.unreported++
      if (sync !== null && count.requests >= limit * HOT) hot.add(key)
    }
    return {
      allowed,
      limit,
      remaining: Math.max(0, left - 1),
      resetSeconds: secondsUntil(count, count.requests - 1, time),
      retryAfterSeconds: allowed ? 0 : secondsUntil(count, limit - 1, time),
    }
  }

  return {
    take: (key) => judge(key, true),
    look: (key) => judge(key, false),

    async exchange() {
      if (sync === null || hot.size === 0) return
      const sent = [...hot].flatMap((key) => {
        const count = counts.peek(key)
        if (count === undefined || count.unreported === 0) return []
        const { minute, unreported: delta } = count
        return [{ key, count, name: `${key}@${minute}`, minute, delta }]
      })
      hot.clear()
      if (sent.length === 0) return
      for (const { count } of sent) count.unreported = 0
      try {
        const totals = await sync.exchange(new Map(sent.map(({ name, delta }) => [name, delta])))
        const second = Math.floor(now() / 1000)
        for (const { count, name, minute, delta } of sent) {
          const total = totals.get(name)
          if (total === undefined || count.minute !== minute) continue
          // When the other processes received theirs is unknown; from now is the latest that it can be.
          const others = total - count.exchanged - delta
          if (others > 0) add(count, second, others)
          count.exchanged = total
        }
      } catch (error) {
        for (const { key, count, minute, delta } of sent) {
          if (count.minute === minute) count.unreported += delta
          hot.add(key)
        }
        throw error
      }
    },
  }
}

/** Counts a request, sets the RateLimit headers, and throws rate_limited if the limit is reached. */
const admitTo = (limiter: RateLimiter, key: string, reply: FastifyReply): void => {
  const verdict = limiter.take(key)
  reply.header('ratelimit-limit', String(verdict.limit))
  reply.header('ratelimit-remaining', String(verdict.remaining))
  reply.header('ratelimit-reset', String(verdict.resetSeconds))
  if (!verdict.allowed) throw rateLimited(verdict.retryAfterSeconds)
}

/** Throws rate_limited if `verdict` shows that the address has sent too many invalid keys. */
const assertWithinGuessLimit = ({ allowed, retryAfterSeconds }: Verdict): void => {
  if (allowed) return
  throw new ServiceError(
    'rate_limited',
    `Too many requests with keys that are not valid came from this address. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  )
}

/** Runs `exchange` once a second, never concurrently, until the returned function is called. */
const keepExchanging = (limiter: RateLimiter, onError: (error: unknown) => void): (() => void) => {
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    limiter
      .exchange()
      .catch(onError)
      .finally(() => {
        busy = false
      })
  }, EXCHANGE_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Requests per key and minute, 0 for no limits. Invalid keys are limited per address, ten times as many by default. */
export interface RateLimits {
  readonly perMinute: number
  readonly guessesPerMinute?: number
  readonly sync?: RateLimitSync | null
}

const nothing = (): void => undefined

/** Counts each request by key, session, or address, until the server closes. */
export const limitRates = (
  app: App,
  { perMinute, guessesPerMinute, sync = null }: RateLimits,
  now: () => number,
): { readonly guesses: GuessLimit; readonly admit: Admit } => {
  if (perMinute === 0) return { guesses: { assertLeft: nothing, count: nothing }, admit: nothing }
  const perKey = createRateLimiter({ perMinute, now, sync })
  const perAddress = createRateLimiter({ perMinute: perMinute * ADDRESS_SHARE, now })
  const guesses = createRateLimiter({ perMinute: guessesPerMinute ?? perMinute * ADDRESS_SHARE, now })
  if (sync !== null) {
    const stop = keepExchanging(perKey, (error) => app.log.warn({ err: error }, 'rate limits could not be exchanged'))
    app.addHook('onClose', async () => stop())
  }
  return {
    guesses: {
      assertLeft: (address) => assertWithinGuessLimit(guesses.look(address)),
      count: (address) => assertWithinGuessLimit(guesses.take(address)),
    },
    admit: (caller, request, reply) => {
      if (caller === null) admitTo(perAddress, request.ip, reply)
      // A page sends many requests at once.
      else if (caller.sessionId !== undefined) admitTo(perAddress, caller.sessionId, reply)
      else admitTo(perKey, caller.rateKeyId ?? caller.keyId, reply)
    },
  }
}
