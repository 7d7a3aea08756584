import { describe, expect, test } from 'vitest'
import { cohortOf, type LastStep, patterns } from './cohort.fixture.ts'
import { addMasks } from './mask.ts'
import { createPlatformAgreement } from './platform-crypto.ts'
import { secureSettings } from './settings.ts'
import { unmaskingStreams } from './unmask.ts'

const count = (pattern: Record<string, LastStep>, steps: readonly LastStep[]) =>
  Object.values(pattern).filter((step) => steps.includes(step)).length

describe.each([
  { names: ['d', 'b', 'a', 'c'], threshold: 3 },
  { names: ['e', 'd', 'b', 'a', 'c'], threshold: 3 },
])('$names.length devices, $threshold needed', ({ names, threshold }) => {
  const settings = secureSettings({ devices: names.length, threshold })

  test('every pattern of drop-outs ends in the exact plain sum, or in a failure that reveals nothing', async () => {
    const cohort = await cohortOf(names, settings, 20)
    const seen = { done: 0, failed: 0 }
    for (const pattern of patterns(names)) {
      const { round, messages: received, sum, delivered } = cohort.run(pattern)
      const [dealt, masked, answered] = [
        count(pattern, ['shares', 'masked', 'answer']),
        count(pattern, ['masked', 'answer']),
        count(pattern, ['answer']),
      ]
      // In every case, the service never receives shares of both secrets of a device, nor enough shares of one if the round
      // fails.
      for (const name of names) {
        const responses = Object.values(received.responses)
        const seeds = responses.filter(({ selfMasks }) => Object.hasOwn(selfMasks, name)).length
        const keys = responses.filter(({ maskingKeys }) => Object.hasOwn(maskingKeys, name)).length
        expect(Math.min(seeds, keys)).toBe(0)
        if (round.status === 'failed') expect(seeds + keys).toBeLessThan(threshold)
      }
      if (answered >= threshold) {
        addMasks(sum!, await unmaskingStreams(round, received))
        expect({ pattern, status: round.status, sum: [...sum!] }).toEqual({
          pattern,
          status: 'done',
          sum: [...cohort.plainSum(delivered)],
        })
        seen.done++
      } else {
        const [left, ofOne, ofSeveral] =
          dealt < threshold
            ? [dealt, 'sent its shares', 'sent their shares']
            : masked < threshold
              ? [masked, 'delivered its masked update', 'delivered their masked updates']
              : [answered, 'sent its shares for unmasking', 'sent their shares for unmasking']
        expect({ pattern, status: round.status, reason: round.reason }).toEqual({
          pattern,
          status: 'failed',
          reason:
            `Secure aggregation needs ${threshold} devices; only ${left === 1 ? `1 device ${ofOne}` : `${left} devices ${ofSeveral}`} ` +
            'in time. Nothing of any update was revealed.',
        })
        await expect(unmaskingStreams(round, received)).rejects.toThrow('are needed')
        seen.failed++
      }
    }
    expect(seen.done + seen.failed).toBe(4 ** names.length)
    expect(seen.done).toBeGreaterThan(0)
  })
})

test('10 devices, three of which leave, one in each step, give the plain sum of the rest', async () => {
  const names = Array.from({ length: 10 }, (_, i) => `device-${i}`)
  const cohort = await cohortOf(names, secureSettings({ devices: 10 }), 5)
  const steps: LastStep[] = ['keys', 'shares', 'masked']
  const pattern = Object.fromEntries(names.map((name, i) => [name, steps[i] ?? 'answer']))
  const { round, messages: received, sum, delivered } = cohort.run(pattern)
  const streams = await unmaskingStreams(round, received)
  const agreement = createPlatformAgreement()
  expect(await unmaskingStreams(round, received, agreement)).toEqual(streams)
  expect(() => agreement(new Uint8Array(32).fill(1), new Uint8Array(32))).toThrow()
  addMasks(sum!, streams)
  expect(delivered).toEqual(names.slice(2))
  expect([...sum!]).toEqual([...cohort.plainSum(names.slice(2))])
})
