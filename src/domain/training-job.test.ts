import { describe, expect, it } from 'vitest'
import { afterCompletedRound, afterFailedRound } from './job-endings.ts'
import { asLosses, hasConverged, objectiveOf } from './job-metric.ts'
import { strategySettings } from './strategy-settings.ts'
import {
  continuedSettings,
  JOB_TRANSITIONS,
  type JobEvent,
  type JobSettings,
  type JobStatus,
  nextJobStatus,
  roundSizes,
} from './training-job.ts'

const EVENTS: readonly JobEvent[] = ['begin', 'finish', 'give_up', 'stop', 'resume', 'extend']

describe('the states of a training job', () => {
  const table: [JobStatus, JobEvent, JobStatus][] = [
    ['pending', 'begin', 'running'],
    ['pending', 'finish', 'completed'],
    ['pending', 'give_up', 'failed'],
    ['pending', 'stop', 'stopped'],
    ['running', 'begin', 'running'],
    ['running', 'finish', 'completed'],
    ['running', 'give_up', 'failed'],
    ['running', 'stop', 'stopped'],
    ['stopped', 'resume', 'pending'],
    ['failed', 'resume', 'pending'],
    ['completed', 'extend', 'pending'],
  ]

  it.each(table)('%s, on %s, becomes %s', (status, event, next) => {
    expect(nextJobStatus(status, event)).toBe(next)
  })

  it('have no other transitions', () => {
    const allowed = new Set(table.map(([status, event]) => `${status} ${event}`))
    for (const status of Object.keys(JOB_TRANSITIONS) as JobStatus[]) {
      for (const event of EVENTS) {
        if (allowed.has(`${status} ${event}`)) continue
        expect(() => nextJobStatus(status, event)).toThrow(`A training job that is ${status} cannot`)
      }
    }
  })
})

describe('the sizes of a round', () => {
  const sizes = { minDevices: 2, targetDevices: 10, overSelection: 1 }

  it('are the target, or more with over-selection', () => {
    const strategy = strategySettings('fedavg')
    expect(roundSizes({ strategy, ...sizes })).toEqual({ minDevices: 2, requested: 10, selected: 10 })
    expect(roundSizes({ strategy, ...sizes, overSelection: 1.1 })).toEqual({
      minDevices: 2,
      requested: 10,
      selected: 11,
    })
    expect(roundSizes({ strategy, ...sizes, overSelection: 1.31 })).toEqual({
      minDevices: 2,
      requested: 10,
      selected: 14,
    })
  })

  it("for an asynchronous job close at the buffer's size", () => {
    const strategy = strategySettings('fedbuff', { buffer: 3 })
    expect(roundSizes({ strategy, ...sizes })).toEqual({ minDevices: 2, requested: 3, selected: 10 })
    expect(() => roundSizes({ strategy, ...sizes, minDevices: 4 })).toThrow(
      'min_devices (4) must not exceed strategy_options.buffer (3)',
    )
  })

  it('are large enough for the strategy', () => {
    const strategy = strategySettings('krum', { byzantine: 4 })
    expect(() => roundSizes({ strategy, ...sizes })).toThrow(
      "target_devices (10) is too low for strategy 'krum' with strategy_options.byzantine 4: it needs 2f + 3 = 11 updates.",
    )
    expect(roundSizes({ strategy, ...sizes, targetDevices: 12 })).toEqual({
      minDevices: 11,
      requested: 12,
      selected: 12,
    })
  })

  it('do not contradict each other', () => {
    expect(() => roundSizes({ strategy: strategySettings(), ...sizes, minDevices: 11 })).toThrow(
      'min_devices (11) must not exceed target_devices (10)',
    )
  })
})

describe('a job with a stop condition', () => {
  const rule = { lossImprovementBelow: 0.01, patience: 2 }

  it.each([
    [[], false],
    [[1, 0.999], false],
    [[1, 0.999, 0.998], true],
    [[1, 0.999, 0.98], false],
    [[1, 0.5, 0.7, 0.6], true],
    [[1, null, 0.999, null, 0.998], true],
    [[1, null, null, null], false],
  ])('has, with losses %j, converged: %s', (losses, converged) => {
    expect(hasConverged(losses, rule)).toBe(converged)
  })
})

it.each([
  [{}, [1, null]],
  [{ metric: 'val/rmse' }, [1, null]],
  [{ metric: 'evaluation.loss' }, [1, null]],
  [{ metric: 'accuracy' }, [-1, null]],
  [{ metric: 'evaluation.f1' }, [-1, null]],
  [{ metric: 'drift', goal: 'minimize' }, [1, null]],
  [{ metric: 'evaluation.loss', goal: 'maximize' }, [-1, null]],
] as const)('values of %j are minimized or maximized as stated, or else by the name', (settings, losses) => {
  expect(asLosses(objectiveOf(settings).goal, [1, null])).toEqual(losses)
})

describe('a job after a round', () => {
  const settings = { rounds: 5, stopWhen: { lossImprovementBelow: 0.1, patience: 1 } }

  it('is completed after its last round, or when it has converged', () => {
    expect(afterCompletedRound({ settings, roundsCompleted: 3, losses: [3, 2, 1] })).toBeNull()
    expect(afterCompletedRound({ settings, roundsCompleted: 5, losses: [5, 4, 3, 2, 1] })).toEqual({
      event: 'finish',
      endedBy: 'rounds_done',
      reason: 'All 5 requested rounds are completed.',
    })
    expect(afterCompletedRound({ settings, roundsCompleted: 3, losses: [3, 2, 1.95] })).toEqual({
      event: 'finish',
      endedBy: 'converged',
      reason: 'The last round improved the loss by less than 0.1.',
    })
  })

  it('gives up when three rounds in a row have failed', () => {
    expect([1, 2].map((failed) => afterFailedRound(failed, 'too few'))).toEqual([null, null])
    expect(afterFailedRound(3, 'too few')).toEqual({
      event: 'give_up',
      endedBy: 'rounds_failed',
      reason: '3 rounds failed one after another. The last: too few',
    })
  })
})

it('a job whose rounds are all completed needs more rounds to be resumed', () => {
  const settings = { rounds: 10 } as JobSettings
  expect(() => continuedSettings(settings, 10, 'resume', undefined)).toThrow(
    'All 10 requested rounds are completed. To train more, set rounds to the number of additional rounds.',
  )
  expect(continuedSettings(settings, 10, 'resume', 2)).toMatchObject({ rounds: 12 })
  expect(continuedSettings(settings, 9, 'resume', undefined)).toMatchObject({ rounds: 10 })
})
