import { expect, it } from 'vitest'
import { createRetries } from './retries.ts'

const setUp = () => {
  let seconds = 0
  const logged: object[] = []
  const log = { error: (fields: object, message?: string) => void logged.push({ ...fields, message }) }
  const retries = createRetries({ now: () => new Date(1000 * seconds) }, log as never, 'it failed')
  const attempts: string[] = []
  const attempt = (id: string, error?: Error) =>
    retries(id, { plan_id: id }, async () => {
      attempts.push(`${id} at ${seconds}`)
      if (error !== undefined) throw error
    })
  return { attempt, attempts, logged, at: (second: number) => void (seconds = second) }
}

it('what keeps failing is tried after 1, 2, 4 ... seconds, at most a minute, and logged each time', async () => {
  const { attempt, attempts, logged, at } = setUp()
  const error = new Error('locked')
  for (let second = 0; second <= 200; second++) {
    at(second)
    expect(await attempt('a', error)).toBe(false)
  }
  expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183].map((second) => `a at ${second}`))
  expect(logged).toHaveLength(9)
  expect(logged[1]).toEqual({ plan_id: 'a', err: error, failures: 2, retry_in_seconds: 2, message: 'it failed' })
})

it('others are not delayed, and after a success failures count from one again', async () => {
  const { attempt, logged, at } = setUp()
  const error = new Error('locked')
  expect(await attempt('a', error)).toBe(false)
  expect([await attempt('a'), await attempt('b'), await attempt('b')]).toEqual([false, true, true])
  at(1)
  expect(await attempt('a')).toBe(true)
  expect(await attempt('a', error)).toBe(false)
  expect(logged).toMatchObject([{ failures: 1 }, { failures: 1 }])
})

it('waits go on when the clock is set back', async () => {
  const { attempt, at } = setUp()
  at(1000)
  await attempt('a', new Error('locked'))
  at(0)
  expect(await attempt('a')).toBe(false)
  at(1)
  expect(await attempt('a')).toBe(true)
})
