import { describe, expect, it } from 'vitest'
import type { Rollout, RolloutEvent } from './delivery-records.ts'
import { isCanary, stagesOf, visibleStages } from './stages.ts'

const at = (minutes: number): string => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString()

const rollout = (fields: Partial<Rollout>): Rollout => ({
  rollout_id: '',
  model_id: '',
  org_id: null,
  version: '1.0.0',
  status: 'active',
  percentage: 30,
  initial_percentage: 10,
  target_percentage: 55,
  increment_step: 10,
  step_interval_minutes: 60,
  group_id: null,
  auto_rollback: false,
  reason: null,
  next_step_at: at(180),
  created_at: at(0),
  started_at: at(0),
  ended_at: null,
  ended_by: null,
  updated_at: at(120),
  model_name: 'm',
  reports: { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 },
  health: { since: at(0), reports: 0, failed: 0, max_failure_share: 0.05, min_reports: 3 },
  failures: [],
  warnings: [],
  ...fields,
})
const event = (name: string, percentage: number, minutes: number): RolloutEvent => ({
  at: at(minutes),
  event: name,
  status: 'active',
  percentage,
  reason: null,
  actor: null,
})
const EVENTS = [
  event('create', 10, 0),
  event('start', 10, 0),
  event('step', 20, 60),
  event('pause', 20, 70),
  event('resume', 20, 80),
  event('step', 30, 120),
]
const reported = (of: Rollout, events = EVENTS) =>
  stagesOf(of, events).map(({ percentage, state, at: when }) => [percentage, state, when])

describe('the stages of a rollout', () => {
  it('are the past ones, the current one, and the scheduled ones', () => {
    expect(reported(rollout({}))).toEqual([
      [10, 'past', at(0)],
      [20, 'past', at(60)],
      [30, 'current', at(120)],
      [40, 'next', at(180)],
      [50, 'later', at(240)],
      [55, 'later', at(300)],
    ])
  })

  it('have no times while paused, no next ones when completed, and no current one after a rollback', () => {
    expect(reported(rollout({ status: 'paused', next_step_at: null })).slice(3)).toEqual([
      [40, 'next', null],
      [50, 'later', null],
      [55, 'later', null],
    ])
    expect(reported(rollout({ status: 'completed', target_percentage: 30 })).at(-1)).toEqual([30, 'current', at(120)])
    expect(reported(rollout({ status: 'rolled_back' })).map(([, state]) => state)).toEqual(['past', 'past', 'past'])
  })

  it('begin with the initial percentage, which is still ahead, before anything has happened', () => {
    const pending = rollout({ status: 'pending', percentage: 10, started_at: null, next_step_at: null })
    const stages = reported(pending, [event('create', 10, 0)])
    expect(stages.slice(0, 2)).toEqual([
      [10, 'next', null],
      [20, 'later', null],
    ])
    expect(visibleStages(stagesOf({ ...pending, increment_step: 1 }, []))[0]).toMatchObject({ percentage: 10 })
  })

  it('are abbreviated far from the current one if there are many', () => {
    const many = rollout({ percentage: 50, increment_step: 1, target_percentage: 100 })
    const shown = visibleStages(stagesOf(many, [event('start', 1, 0), ...EVENTS, event('step', 50, 150)]))
    expect(shown.length).toBeLessThanOrEqual(9)
    expect(shown[0]).toMatchObject({ percentage: 1 })
    expect(shown.at(-1)).toMatchObject({ percentage: 100 })
    expect(shown.some((stage) => stage?.state === 'current')).toBe(true)
    expect(shown.some((stage) => stage?.state === 'next')).toBe(true)
    expect(shown.filter((stage) => stage === null).length).toBeGreaterThan(0)
  })

  it('are none of a canary, which its policy decides on', () => {
    expect([60, 10 * 365 * 24 * 60].map((minutes) => isCanary({ step_interval_minutes: minutes }))).toEqual([
      false,
      true,
    ])
  })
})
