import { expect, test } from 'vitest'
import { nextRest } from './training-heartbeats.ts'

test.each([1, 20, 90, 300, 3600])('with %d s between heartbeats, none comes too late during training', (interval) => {
  let rest = Math.min(2, interval)
  for (let beats = 0; beats < 12; beats++) {
    const next = nextRest(rest, interval)
    // `silentAt` in selection.store.ts.
    expect(next).toBeLessThan(3 * Math.max(20, rest))
    rest = next
  }
  expect(rest).toBe(interval)
})
