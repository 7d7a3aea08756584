import { type Query, QueryClient, QueryObserver } from '@tanstack/react-query'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ApiError } from '../../client/client.ts'
import { MODEL_CHOICES, PAGES } from '../api/query-keys.ts'
import { rateLimitMs } from '../api/rate-limit.ts'
import { createRefetch, isPolled } from './refetch.ts'

/** A query in view whose requests are answered by `answers`, in order. */
const startQuery = (...keys: readonly string[]) => {
  const client = new QueryClient()
  const answers: { resolve(data: number): void; reject(error: Error): void }[] = []
  const aborted: boolean[] = []
  const queryKey = ['/api/v1/status', {}, ...keys]
  const observer = new QueryObserver(client, {
    queryKey,
    retry: false,
    queryFn: ({ signal }) => {
      const index = aborted.push(false) - 1
      signal.addEventListener('abort', () => (aborted[index] = true))
      return new Promise<number>((resolve, reject) => answers.push({ resolve, reject }))
    },
  })
  observer.subscribe(() => undefined)
  return { query: client.getQueryCache().find({ queryKey })!, refetch: createRefetch(client), answers, aborted }
}

it('repeats a request that was under way during changes once, when it ends, and does not cancel it', async () => {
  const { query, refetch, answers, aborted } = startQuery()
  const changes = [refetch(query), refetch(query), refetch(query)]
  answers[0]!.resolve(1)
  await expect.poll(() => answers.length).toBe(2)
  answers[1]!.resolve(2)
  await Promise.all(changes)
  expect([query.state.data, aborted]).toEqual([2, [false, false]])
  const again = refetch(query)
  await expect.poll(() => answers.length).toBe(3)
  answers[2]!.resolve(3)
  await again
  expect(query.state.data).toBe(3)
})

it('repeats a list at once whose data is of a later time than now, because the clock was set back', async () => {
  const { query, refetch, answers } = startQuery(PAGES)
  answers[0]!.resolve(1)
  await expect.poll(() => query.state.data).toBe(1)
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(Date, 'now').mockReturnValue(query.state.dataUpdatedAt - 3_600_000)
  void refetch(query)
  await expect.poll(() => answers.length).toBe(2)
})

it('repeats the models to choose from after a change all the later, the more requests it takes', async () => {
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers()
  const client = new QueryClient()
  let loads = 0
  const queryFn = () => ({ models: Array.from({ length: 1000 }), loads: ++loads })
  const observer = new QueryObserver(client, { queryKey: [MODEL_CHOICES], queryFn })
  onTestFinished(observer.subscribe(() => undefined))
  await vi.advanceTimersByTimeAsync(0)
  const refetch = createRefetch(client)
  void refetch(observer.getCurrentQuery() as unknown as Query)
  await vi.advanceTimersByTimeAsync(29_000)
  expect(loads).toBe(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect(loads).toBe(2)
})

it('leaves a query alone that exceeded the rate limit, as polling does, until the service allows it again', async () => {
  const { query, refetch, answers } = startQuery()
  expect(isPolled(query)).toBe(true)
  const limited = new ApiError(
    429,
    { error: 'rate_limited', message: 'Try again in 7 s.', status_code: 429 },
    new Headers({ 'retry-after': '7' }),
  )
  answers[0]!.reject(limited)
  await refetch(query)
  expect([query.state.error, answers.length, limited.retryAfterSeconds]).toEqual([limited, 1, 7])
  expect(isPolled(query)).toBe(false)
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(Date, 'now').mockReturnValue(query.state.errorUpdatedAt + 7000)
  expect(isPolled(query)).toBe(true)
})

it.each([
  ['of the service', { error: 'rate_limited', message: 'Try again.', status_code: 429 }, { 'retry-after': '7' }, 7000],
  ['of a proxy that says no time', null, {}, 10_000],
])('waits after a 429 %s', (_, body, headers, ms) => {
  expect(rateLimitMs(new ApiError(429, body, new Headers(headers)))).toBe(ms)
})
