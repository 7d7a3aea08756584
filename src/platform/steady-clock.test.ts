import { expect, it } from 'vitest'
import { steadyClock } from './steady-clock.ts'

it('a steady clock continues when the clock is set back, and never goes back itself', () => {
  let time = 1000
  const steady = steadyClock(() => new Date(time))
  const read = (at: number): number => {
    time = at
    return steady()
  }
  expect([read(1000), read(1500), read(200), read(700), read(5000), read(0), read(10)]).toEqual([
    1000, 1500, 1500, 2000, 6300, 6300, 6310,
  ])
})
