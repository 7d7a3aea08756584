import { expect, it } from 'vitest'
import { betterOf, decide } from './decision.ts'
import type { Analytics, Comparison } from './experiment-records.ts'

const compared = (difference: number, lower: number, upper: number): Comparison => ({
  variant: 'new',
  baseline: 'old',
  difference,
  t_statistic: 1,
  degrees_of_freedom: 9,
  p_value: 0.5,
  adjusted_p_value: 0.5,
  effect_size: 0.1,
  confidence_interval: null,
  always_valid_interval: { lower, upper, level: 0.95 },
  decided: lower > 0 || upper < 0,
})

const measured = (name: string, devices: number): Analytics['variants'][number] => ({
  name,
  sample_size: devices,
  failed_devices: 0,
  accuracy: null,
  loss: null,
  allocation: 0.5,
  metrics: devices === 0 ? {} : { accuracy: { devices, observations: devices, mean: 1, std_dev: null } },
})

const analytics = (fields: Partial<Analytics>): Analytics => ({
  metric: 'accuracy',
  experiment_id: '1',
  status: 'running',
  variants: [measured('old', 9), measured('new', 9)],
  p_value: null,
  significant: false,
  confidence_level: 0.95,
  primary_metric: 'accuracy',
  comparisons: [],
  sample_ratio: null,
  warnings: [],
  ...fields,
})

const ratio = { chi_square_statistic: 40, degrees_of_freedom: 1, p_value: 0.0002, mismatch: true }

it.each<readonly [string, Partial<Analytics>, string, string]>([
  ['nothing can be compared', { variants: [measured('old', 9), measured('new', 1)] }, 'idle', 'Nothing to compare yet'],
  ['all measured the same', {}, 'idle', 'Nothing to compare yet'],
  ['an interval contains zero', { comparisons: [compared(0.1, -0.1, 0.3)] }, 'busy', 'Undecided'],
  ['the metric is certainly higher', { comparisons: [compared(0.2, 0.1, 0.3)] }, 'good', 'new is better'],
  ['the metric is certainly lower', { comparisons: [compared(-0.2, -0.3, -0.1)] }, 'warn', 'new is worse'],
  [
    'a loss is certainly lower',
    { primary_metric: 'loss', comparisons: [compared(-0.2, -0.3, -0.1)] },
    'good',
    'new is better',
  ],
  [
    'devices are missing, whatever else is certain',
    { sample_ratio: ratio, comparisons: [compared(0.2, 0.1, 0.3)] },
    'bad',
    'Not trustworthy',
  ],
])('says so if %s', (_, fields, tone, title) => {
  const { reasons, ...decision } = decide(analytics(fields))
  expect(decision).toEqual({ tone, title })
  expect(reasons).toHaveLength(1)
})

it('says how large the difference is, and which variants lack devices', () => {
  expect(decide(analytics({ comparisons: [compared(-0.2, -0.3, -0.1)] })).reasons).toEqual([
    'new has a lower accuracy than old, by 0.2000 (-0.3000 to -0.1000); the interval excludes zero.',
  ])
  expect(decide(analytics({ variants: [measured('old', 1), measured('new', 0)] })).reasons).toEqual([
    'At least two devices of each variant must report accuracy; old, new have fewer.',
  ])
  expect(decide(analytics({})).reasons).toEqual([
    'Within each variant, all devices measured the same accuracy: there is no variation to test against.',
  ])
})

it('lower is better for errors and costs, higher for all other metrics', () => {
  expect(['loss', 'val_loss', 'latency_ms', 'word_error_rate'].map(betterOf)).toEqual(Array(4).fill('lowest'))
  expect(['crash_rate', 'memory_mb', 'bytes_sent', 'battery_drain'].map(betterOf)).toEqual(Array(4).fill('lowest'))
  expect(['accuracy', 'f1', 'clicks', 'battery_level'].map(betterOf)).toEqual(Array(4).fill('highest'))
})
