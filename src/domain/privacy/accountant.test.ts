import { expect, it } from 'vitest'
import { createAccounting, privacyLoss } from './accountant.ts'
import type { NoisySteps } from './mechanism.ts'

const round = (n: number): NoisySteps => ({ noiseMultiplier: 1.1, sampleRate: 20 / (200 + n), steps: 1 })

it('adding rounds to cached sums costs the same epsilon as computing everything anew', () => {
  const accounting = createAccounting()
  const spent: NoisySteps[] = []
  for (let n = 0; n < 24; n++) {
    const more = [round(n), { noiseMultiplier: 6, sampleRate: 1, steps: 1 }]
    const found = accounting.loss(more, 1e-5, { spent })
    const anew = privacyLoss([...spent, ...more], 1e-5)
    expect(Math.abs(found.epsilon - anew.epsilon)).toBeLessThan(1e-9)
    expect(found.accountant).toBe('pld')
    spent.push(...more)
  }
})

it('a cached sum is not used if less, or something else, was spent', () => {
  const accounting = createAccounting()
  const large = accounting.loss([], 1e-5, { spent: [round(0), round(1), { ...round(2), steps: 5 }] })
  const requested = [round(0), { ...round(2), steps: 4 }, round(3)]
  const found = accounting.loss([], 1e-5, { spent: requested })
  expect(found.epsilon).toBe(privacyLoss(requested, 1e-5).epsilon)
  expect(large.epsilon).toBeGreaterThan(found.epsilon)
})
