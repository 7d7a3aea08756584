import { expect, it } from 'vitest'
import type { Spending } from './federation-records.ts'
import { burnDown, forecastSteps } from './forecast.ts'

const spending = (cumulative_epsilon: number | null): Spending => ({
  round_id: '1',
  job_id: null,
  status: cumulative_epsilon === null ? 'reserved' : 'settled',
  noise_multiplier: 1,
  sample_rate: 0.1,
  num_steps: 1,
  clip_norm: 1,
  epsilon_cost: null,
  cumulative_epsilon,
  accountant: null,
  reserved_at: '2026-01-01T00:00:00.000Z',
  settled_at: null,
})

it('requests the forecast for a few numbers of rounds, up to the last one within the budget', () => {
  expect(forecastSteps(12)).toEqual([2, 4, 6, 8, 10, 12])
  expect(forecastSteps(2)).toEqual([1, 2])
  expect(forecastSteps(0)).toEqual([])
})

it('a budget burns down by what was spent, and the forecast continues from there', () => {
  const projections = [
    { rounds: 1, epsilon: 2.5 },
    { rounds: 2, epsilon: null },
    { rounds: 3, epsilon: 3.4 },
  ]
  expect(burnDown(3, [spending(1), spending(1.5), spending(null)], 0, projections)).toEqual([
    {
      name: 'left',
      points: [
        [0, 3],
        [1, 2],
        [2, 1.5],
      ],
    },
    {
      name: 'forecast',
      points: [
        [2, 1.5],
        [3, 0.5],
        [5, 0],
      ],
    },
  ])
  expect(burnDown(3, [], 0, [])).toEqual([{ name: 'left', points: [[0, 3]] }])
  expect(burnDown(3, [spending(1)], 200, [])).toEqual([{ name: 'left', points: [[201, 2]] }])
})
