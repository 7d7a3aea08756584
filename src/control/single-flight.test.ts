import { expect, it } from 'vitest'
import { singleFlight } from './single-flight.ts'

it('concurrent and later lookups of a key share one request', async () => {
  let looks = 0
  const once = singleFlight<string>(2)
  const look = async () => `look ${++looks}`
  expect(await Promise.all([once('a', look), once('a', look), once('b', look)])).toEqual(['look 1', 'look 1', 'look 2'])
  expect(await once('a', look)).toBe('look 1')
})

it('values that are missing or fail to load are looked up again', async () => {
  const once = singleFlight<string>(2)
  expect(await once('a', async () => null)).toBe(null)
  await expect(once('a', () => Promise.reject(new Error('away')))).rejects.toEqual(new Error('away'))
  expect(await once('a', async () => 'there')).toBe('there')
})

it('remembers no more than the given number of values', async () => {
  const once = singleFlight<string>(1)
  await once('a', async () => 'first')
  await once('b', async () => 'other')
  expect(await once('a', async () => 'second')).toBe('second')
})
