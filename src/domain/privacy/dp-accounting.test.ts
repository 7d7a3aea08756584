import { expect, it } from 'vitest'
import { privacyLoss } from './accountant.ts'
import { createCompositions } from './composition.ts'
import { ALL_DIFFERENT, DP_ACCOUNTING, stepsOf } from './dp-accounting.fixture.ts'
import { createMoments } from './moments.ts'
import { epsilonOfPld } from './pld.ts'
import { composedRdp, epsilonOfRdp, ORDERS, rdpOf } from './rdp.ts'

const REFERENCES = DP_ACCOUNTING.map((reference) => [reference.rounds, reference.delta, reference] as const)

it.each(REFERENCES)('Rényi accounting of %j at delta %d agrees with dp_accounting', (_rounds, _delta, reference) => {
  const { delta, rdp } = reference
  const atWholeOrders = composedRdp(stepsOf(reference), createMoments().rdp).map((value, at) =>
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
])('the Rényi divergence of noise %d and sampling %d at order %d is %d', (sigma, q, order, exact) => {
  expect(Math.abs(rdpOf(sigma, q, order) / exact - 1)).toBeLessThan(1e-11)
})

it.each(REFERENCES)(
  'the composed privacy loss of %j at delta %d agrees with dp_accounting and is an upper bound',
  (_rounds, _delta, reference) => {
    const { delta, pld } = reference
    const found = privacyLoss(stepsOf(reference), delta)
    expect(found.accountant).toBe('pld')
    expect(found.epsilon - pld).toBeGreaterThan(-1e-6)
    expect(found.epsilon - pld).toBeLessThan(2e-4)
  },
)

it('stays an upper bound if losses are weighted so much that rounding in the transform is visible', () => {
  const rounds = [{ noiseMultiplier: 1.2, sampleRate: 0.05, steps: 2 }]
  for (const tilt of [1, 8, 9, 10, 14, 20, 40]) {
    const tools = { moments: createMoments(), compose: createCompositions() }
    const found = epsilonOfPld({ spent: [], more: rounds }, 1e-7, { tilt }, tools)!
    expect(found - 1.30453781).toBeGreaterThan(-1e-6)
    expect(found - 1.30453781).toBeLessThan(1e-3)
  }
})

// By dp_accounting, extrapolated as in the fixture. The order that Rényi accounting chooses is of no use here.
it.each([
  [2, 0.001, 1000, 1e-8, 0.0799650045],
  [1.1, 1e-4, 1000, 1e-5, 0.0092400834],
  [1, 1e-4, 10_000, 1e-6, 0.0469565495],
  [1.1, 1e-4, 1, 1e-5, 0.0001655544],
])(
  'noise %d, a low sampling rate of %d, and %d steps cost within a thousandth at delta %d',
  (sigma, q, count, delta, pld) => {
    const found = privacyLoss([{ noiseMultiplier: sigma, sampleRate: q, steps: count }], delta)
    expect(found.epsilon - pld).toBeGreaterThan(-1e-6)
    expect(found.epsilon - pld).toBeLessThan(1e-3)
  },
)

it('rounds of a growing fleet at low sampling rates cost no more than a few hundredths', () => {
  const rounds = Array.from({ length: 24 }, (_, n) => [2, 10 / (10_000 + n), 1] as const)
  // Equal rounds at the highest rate cost 0.01573 at most.
  expect(privacyLoss(stepsOf({ rounds }), 1e-8).epsilon).toBeLessThan(0.03)
})

it("the loss of rounds that all differ is within a thousandth of dp_accounting's", () => {
  const found = privacyLoss(stepsOf(ALL_DIFFERENT), 1e-5)
  expect(found.epsilon - ALL_DIFFERENT.pld).toBeGreaterThan(-1e-6)
  expect(found.epsilon - ALL_DIFFERENT.pld).toBeLessThan(1e-3)
})

// Composed in numpy on 2^20 points, untilted and split evenly: not a bound, but it gives the two values above to 1e-6.
it.each([
  [128, 5.15967158, (n: number) => [1.1, 20 / (200 + n), 1] as const],
  [200, 3.53331245, (n: number) => [1 + n / 100, 10 / (100 + n), 1] as const],
])('%d kinds of rounds, as in a growing fleet, are within a thousandth of epsilon %d', (count, exact, kind) => {
  const found = privacyLoss(stepsOf({ rounds: Array.from({ length: count }, (_, n) => kind(n)) }), 1e-5)
  expect(found.accountant).toBe('pld')
  expect(found.epsilon - exact).toBeGreaterThan(-1e-6)
  expect(found.epsilon - exact).toBeLessThan(1e-3)
})
