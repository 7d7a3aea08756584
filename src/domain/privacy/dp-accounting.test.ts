import { expect, it } from 'vitest'
import { privacyLoss } from './accountant.ts'
import { ALL_DIFFERENT, DP_ACCOUNTING, stepsOf } from './dp-accounting.fixture.ts'
import { epsilonOfPld } from './pld.ts'
import { composedRdp, epsilonOfRdp, ORDERS, rdpOf } from './rdp.ts'

const REFERENCES = DP_ACCOUNTING.map((reference) => [reference.rounds, reference.delta, reference] as const)

it.each(REFERENCES)('Renyi accounting of %j at delta %d agrees with dp_accounting', (_rounds, _delta, reference) => {
  const { delta, rdp } = reference
  const atWholeOrders = composedRdp(stepsOf(reference)).map((value, at) =>
    Number.isInteger(ORDERS[at]) ? value : Number.POSITIVE_INFINITY,
  )
  expect(Math.abs(epsilonOfRdp(atWholeOrders, delta).epsilon - rdp)).toBeLessThan(1e-8)
  expect(privacyLoss(stepsOf(reference), delta).rdp).toBeLessThanOrEqual(rdp + 1e-8)
})

// Moments at fractional orders by mpmath's quadrature, 40 digits.
it.each([
  [1.1, 0.1, 6.9, 0.303775701917967],
  [1.1, 0.1, 3.8, 0.0331314021611958],
  [0.5, 0.01, 2.1, 0.00631908825426204],
  [0.7, 0.02, 3.4, 0.0084029420885678],
  [1, 0.01, 4.1, 0.0003733633323874272],
  [4, 0.5, 1.1, 0.00867371861151715],
  [10, 0.9, 5.5, 0.0223656479417546],
  [5, 0.001, 10.9, 2.2250055502253e-7],
])('Renyi divergence of noise %d and sampling %d at order %d is %d', (sigma, q, order, exact) => {
  expect(Math.abs(rdpOf(sigma, q, order) / exact - 1)).toBeLessThan(1e-11)
})

it.each(REFERENCES)(
  'the composed privacy loss of %j at delta %d is dp_accounting’s, from above',
  (_rounds, _delta, reference) => {
    const { delta, pld } = reference
    const found = privacyLoss(stepsOf(reference), delta)
    expect(found.accountant).toBe('pld')
    expect(found.epsilon - pld).toBeGreaterThan(-1e-6)
    expect(found.epsilon - pld).toBeLessThan(2e-4)
  },
)

it('stays an upper bound where losses are weighed so much that rounding in the transform shows', () => {
  const rounds = [{ noiseMultiplier: 1.2, sampleRate: 0.05, steps: 2 }]
  for (const tilt of [1, 8, 9, 10, 14, 20, 40]) {
    const found = epsilonOfPld(rounds, 1e-7, { tilt })!
    expect(found - 1.30453781).toBeGreaterThan(-1e-6)
    expect(found - 1.30453781).toBeLessThan(1e-3)
  }
})

it('rounds that all differ are within a thousandth of what dp_accounting makes of them', () => {
  const found = privacyLoss(stepsOf(ALL_DIFFERENT), 1e-5)
  expect(found.epsilon - ALL_DIFFERENT.pld).toBeGreaterThan(-1e-6)
  expect(found.epsilon - ALL_DIFFERENT.pld).toBeLessThan(1e-3)
})
