import { describe, expect, it } from 'vitest'
import { ServiceError } from './errors.ts'
import {
  EXPERIMENT_STATUSES,
  type ExperimentEvent,
  type ExperimentState,
  type ExperimentStatus,
  requireVariants,
  transition,
  variantOf,
} from './experiment.ts'

const started = new Date('2026-01-01T00:00:00Z')
const now = new Date('2026-01-02T00:00:00Z')
const EVENTS: readonly ExperimentEvent[] = ['start', 'pause', 'resume', 'complete', 'cancel']

const stateIn = (status: ExperimentStatus): ExperimentState => ({
  status,
  reason: 'as it was',
  startedAt: status === 'draft' ? null : started,
  endedAt: null,
})

describe('an experiment', () => {
  const table: readonly [ExperimentStatus, ExperimentEvent, ExperimentStatus][] = [
    ['draft', 'start', 'running'],
    ['draft', 'cancel', 'cancelled'],
    ['running', 'pause', 'paused'],
    ['running', 'complete', 'completed'],
    ['running', 'cancel', 'cancelled'],
    ['paused', 'resume', 'running'],
    ['paused', 'complete', 'completed'],
    ['paused', 'cancel', 'cancelled'],
  ]

  it.each(table)('in status %s, event %s leads to %s', (from, event, to) => {
    expect(transition(stateIn(from), event, now, 'because')).toEqual({
      status: to,
      reason: 'because',
      startedAt: event === 'start' ? now : stateIn(from).startedAt,
      endedAt: to === 'completed' || to === 'cancelled' ? now : null,
    })
  })

  it('refuses every other event with a conflict that names the status', () => {
    const allowed = new Set(table.map(([from, event]) => `${from} ${event}`))
    for (const status of EXPERIMENT_STATUSES) {
      for (const event of EVENTS.filter((one) => !allowed.has(`${status} ${one}`))) {
        const act = () => transition(stateIn(status), event, now)
        expect(act, `${status} ${event}`).toThrow(ServiceError)
        expect(act).toThrow(new RegExp(`^An experiment that is ${status} cannot be \\w+\\.$`))
      }
    }
  })
})

describe('variants', () => {
  const of = (...allocations: number[]) => allocations.map((allocation, n) => ({ name: `v${n}`, allocation }))

  it('are valid if there are two or more and their allocations sum to 1, within rounding', () => {
    requireVariants(of(0.5, 0.5))
    requireVariants(of(0.1, 0.2, 0.7))
    requireVariants(of(0, 1))
    requireVariants(of(0.5, 0.5 + 9e-10))
    requireVariants(of(...Array.from({ length: 7 }, () => 1 / 7)))
  })

  it.each([
    [of(), 'at least two'],
    [of(1), 'at least two'],
    [of(0.5, 0.4), 'sum to 0.9'],
    [of(0.5, 0.6), 'sum to 1.1'],
    [of(0.5, 0.5 + 2e-9), 'must sum to 1'],
    [of(1.5, -0.5), "allocation of 'v0' is 1.5"],
    [of(Number.NaN, 1), "allocation of 'v0' is NaN"],
    [
      [
        { name: 'a', allocation: 0.5 },
        { name: 'a', allocation: 0.5 },
      ],
      "named 'a'",
    ],
  ])('are refused otherwise: %j, because %s', (variants, reason) => {
    expect(() => requireVariants(variants)).toThrow(reason)
  })

  it('get devices in proportion to their allocations, and a device always gets the same one', () => {
    const experiment = { id: '3f0c9f0e-6f3d-4c52-9d8a-0d5b8f9e4a11', variants: of(0.2, 0, 0.5, 0.3) }
    const counts = [0, 0, 0, 0]
    for (let n = 0; n < 20_000; n++) counts[variantOf(experiment, `device-${n}`)]! += 1
    const expected = [4000, 0, 10_000, 6000]
    // Four standard deviations of the largest share.
    for (const [index, count] of counts.entries()) expect(Math.abs(count - expected[index]!)).toBeLessThan(285)
    expect(counts[1]).toBe(0)
    expect(['pixel-7', 'gerät', '设备', ''].map((deviceId) => variantOf(experiment, deviceId))).toEqual([2, 2, 3, 3])
  })
})
