import { expect, test } from 'vitest'
import { NetworkError, Refusal } from './api-error.ts'
import { backOffMs, DEFAULT_POLICY, type Runtime, retrying, sleep } from './retry.ts'

/** A runtime whose clock only advances by waiting, and that records each wait. */
const stoppedRuntime = (random = 1): Runtime & { readonly waits: number[]; readonly logged: string[] } => {
  let time = 0
  const waits: number[] = []
  const logged: string[] = []
  return {
    waits,
    logged,
    now: () => time,
    random: () => random,
    log: (message) => logged.push(message),
    sleep: async (milliseconds) => {
      waits.push(milliseconds)
      time += milliseconds
    },
  }
}

/** Throws these errors in order, then succeeds. */
const failing = (errors: readonly Error[]): (() => Promise<string>) => {
  const left = [...errors]
  return async () => {
    const error = left.shift()
    if (error) throw error
    return 'done'
  }
}

const refusal = (status: number, retryAfter?: string): Refusal =>
  new Refusal(new Response(null, { status, headers: retryAfter ? { 'retry-after': retryAfter } : {} }), null, 0)

const policy = { attempts: 4, totalMs: 100_000, firstWaitMs: 1000, longestWaitMs: 3000 }
const cut = new NetworkError('cut.')

test('network errors are retried after doubling waits, up to the maximum', async () => {
  const runtime = stoppedRuntime()
  expect(await retrying('call', failing([cut, cut, cut]), runtime, policy)).toBe('done')
  expect(runtime.waits).toEqual([1000, 2000, 3000])
  expect(runtime.logged[0]).toBe('call: cut. Trying again in 1.0 s.')
})

test('half of every wait is random', () => {
  expect([0, 0.5, 1].map((chance) => backOffMs(2, policy, () => chance))).toEqual([1000, 1500, 2000])
})

test.each([429, 500, 502, 503, 504])('a %d response is retried', async (status) => {
  const runtime = stoppedRuntime()
  expect(await retrying('call', failing([refusal(status)]), runtime, policy)).toBe('done')
  expect(runtime.waits).toEqual([1000])
})

test.each([400, 401, 403, 404, 409, 413, 501])('a %d response is final', async (status) => {
  const runtime = stoppedRuntime()
  const error = refusal(status)
  await expect(retrying('call', failing([error]), runtime, policy)).rejects.toBe(error)
  expect(runtime.waits).toEqual([])
})

test('a Retry-After replaces the back-off and is never shortened', async () => {
  const busy = refusal(503, '40')
  const runtime = stoppedRuntime(0)
  expect(await retrying('call', failing([busy]), runtime, policy)).toBe('done')
  const jittered = stoppedRuntime(1)
  expect(await retrying('call', failing([busy]), jittered, policy)).toBe('done')
  expect([...runtime.waits, ...jittered.waits]).toEqual([40_000, 44_000])
})

test('a Retry-After beyond the remaining time gives up at once', async () => {
  const runtime = stoppedRuntime()
  const busy = refusal(429, '200')
  await expect(retrying('call', failing([busy]), runtime, policy)).rejects.toBe(busy)
  expect(runtime.waits).toEqual([])
})

test('the last error is thrown after the last attempt', async () => {
  const runtime = stoppedRuntime()
  const last = new NetworkError('the fourth')
  await expect(retrying('call', failing([cut, cut, cut, last]), runtime, policy)).rejects.toBe(last)
  expect(runtime.waits).toHaveLength(3)
})

test('progress resets the count of failures', async () => {
  const runtime = stoppedRuntime()
  let calls = 0
  const response = await retrying(
    'call',
    async (progress) => {
      if (++calls > 9) return 'done'
      progress()
      throw cut
    },
    runtime,
    policy,
  )
  expect([response, calls, new Set(runtime.waits)]).toEqual(['done', 10, new Set([1000])])
})

test('an error in our own code is not retried', async () => {
  const bug = new TypeError('x is not a function')
  await expect(retrying('call', failing([bug]), stoppedRuntime(), policy)).rejects.toBe(bug)
})

test('aborting ends a wait with the given reason', async () => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(new Error('stopped')), 10)
  const runtime = { ...stoppedRuntime(), sleep }
  await expect(
    retrying(
      'call',
      failing([cut]),
      runtime,
      { ...DEFAULT_POLICY, firstWaitMs: 1e6, longestWaitMs: 1e6, totalMs: 1e9 },
      stop.signal,
    ),
  ).rejects.toThrow('stopped')
})

test('a signal that is already aborted stops the call before anything is sent', async () => {
  let calls = 0
  const attempt = async (): Promise<number> => ++calls
  await expect(retrying('call', attempt, stoppedRuntime(), policy, AbortSignal.abort(new Error('no')))).rejects.toThrow(
    'no',
  )
  await expect(sleep(1e6, AbortSignal.abort(new Error('no')))).rejects.toThrow('no')
  expect(calls).toBe(0)
})
