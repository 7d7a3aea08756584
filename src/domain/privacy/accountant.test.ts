import { expect, it } from 'vitest'
import { createAccounting, privacyLoss } from './accountant.ts'
import type { NoisySteps } from './mechanism.ts'
import { finish } from './work.ts'

const round = (n: number): NoisySteps => ({ noiseMultiplier: 1.1, sampleRate: 20 / (200 + n), steps: 1 })

it('rounds on top of remembered sums cost what they cost when all is computed anew', () => {
  const accounting = createAccounting()
  const spent: NoisySteps[] = []
  for (let n = 0; n < 24; n++) {
    const more = [round(n), { noiseMultiplier: 6, sampleRate: 1, steps: 1 }]
    const found = finish(accounting.loss(more, 1e-5, { spent }))
    const anew = privacyLoss([...spent, ...more], 1e-5)
    expect(Math.abs(found.epsilon - anew.epsilon)).toBeLessThan(1e-9)
    expect(found.accountant).toBe('pld')
    spent.push(...more)
  }
})

it('a remembered sum is not used where less was spent, or something else', () => {
  const accounting = createAccounting()
  const large = finish(accounting.loss([], 1e-5, { spent: [round(0), round(1), { ...round(2), steps: 5 }] }))
  const wanted = [round(0), { ...round(2), steps: 4 }, round(3)]
  const found = finish(accounting.loss([], 1e-5, { spent: wanted }))
  expect(found.epsilon).toBe(privacyLoss(wanted, 1e-5).epsilon)
  expect(large.epsilon).toBeGreaterThan(found.epsilon)
})

it('two computations that take turns do not disturb each other', () => {
  const accounting = createAccounting()
  const wanted = [0, 1].map((from) => Array.from({ length: 12 }, (_, n) => round(from + 2 * n)))
  const works = wanted.map((spent) => accounting.loss([round(99)], 1e-5, { spent }))
  const found: number[] = []
  for (let turns = 0; found.filter((epsilon) => epsilon !== undefined).length < 2; turns++) {
    const { done, value } = works[turns % 2]!.next()
    if (done === true && value !== undefined) found[turns % 2] = value.epsilon
  }
  for (const [at, spent] of wanted.entries()) {
    expect(Math.abs(found[at]! - privacyLoss([...spent, round(99)], 1e-5).epsilon)).toBeLessThan(1e-9)
  }
})

it('a sum of many kinds comes in many small steps', () => {
  let pauses = 0
  const work = createAccounting().loss([], 1e-5, { spent: Array.from({ length: 40 }, (_, n) => round(n)) })
  while (work.next().done !== true) pauses++
  // Each kind is looked at when the grid is planned, twice, and when its losses are put on it.
  expect(pauses).toBeGreaterThan(40 * 4)
})
