import type { FastifyReply } from 'fastify'
import { rateLimited, ServiceError } from '../../domain/errors.ts'
import type { Admit, GuessLimit } from './access.ts'
import type { App } from './app.ts'
import { createRateLimiter, type RateLimiter, type RateLimitSync, type Verdict } from './rate-limiter.ts'

const EXCHANGE_MS = 1000
/** Requests to public routes and with invalid keys are counted per address, which many devices may share. */
const ADDRESS_SHARE = 10

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
