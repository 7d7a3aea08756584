import { describe, expect, it } from 'vitest'
import {
  dueEvent,
  mayEndEarly,
  NO_STEPS_SECONDS,
  previewSchedule,
  ROLLOUT_TRANSITIONS,
  type RolloutEvent,
  type RolloutState,
  type RolloutStatus,
  requireSteps,
  transition,
  unhealthyBecause,
} from './rollout.ts'

const now = new Date('2026-01-01T12:00:00Z')
const inAnHour = new Date('2026-01-01T13:00:00Z')
const before = new Date('2026-01-01T11:00:00Z')

const rollout = (status: RolloutStatus, more: Partial<RolloutState> = {}): RolloutState => ({
  status,
  percentage: 30,
  targetPercentage: 50,
  incrementStep: 15,
  stepIntervalSeconds: 3600,
  reason: status === 'paused' ? 'was bad' : null,
  nextStepAt: status === 'active' ? now : null,
  healthSince: status === 'pending' ? null : before,
  startedAt: status === 'pending' ? null : before,
  endedAt: status === 'completed' ? before : null,
  endedBy: status === 'completed' ? 'service' : null,
  ...more,
})

const EVENTS: readonly RolloutEvent[] = [
  'start',
  'pause',
  'resume',
  'advance',
  'step',
  'reach',
  'promote',
  'rollback',
  'fail_health',
  'set_percentage',
]

describe('a transition', () => {
  it.each<[RolloutStatus, RolloutEvent, Partial<RolloutState>]>([
    ['pending', 'start', { status: 'active', nextStepAt: inAnHour, healthSince: now, startedAt: now }],
    ['pending', 'set_percentage', { percentage: 40 }],
    ['active', 'pause', { status: 'paused', nextStepAt: null, reason: 'because' }],
    ['active', 'fail_health', { status: 'paused', nextStepAt: null, reason: 'because' }],
    ['active', 'step', { percentage: 45, nextStepAt: inAnHour }],
    ['active', 'advance', { percentage: 45, nextStepAt: inAnHour }],
    ['active', 'reach', { status: 'completed', nextStepAt: null, endedAt: now, endedBy: 'user' }],
    ['active', 'promote', { nextStepAt: inAnHour }],
    [
      'active',
      'rollback',
      { status: 'rolled_back', nextStepAt: null, endedAt: now, endedBy: 'user', reason: 'because' },
    ],
    ['active', 'set_percentage', { percentage: 40, nextStepAt: inAnHour }],
    ['paused', 'resume', { status: 'active', nextStepAt: inAnHour, healthSince: now, reason: null }],
    ['paused', 'rollback', { status: 'rolled_back', endedAt: now, endedBy: 'user', reason: 'because' }],
    ['paused', 'set_percentage', { percentage: 40 }],
    ['completed', 'rollback', { status: 'rolled_back', endedAt: now, endedBy: 'user', reason: 'because' }],
  ])('of a %s rollout by %s makes exactly these changes', (status, event, changes) => {
    const from = rollout(status)
    expect(transition(from, event, now, { reason: 'because', percentage: 40, by: 'user' })).toEqual({
      ...from,
      ...changes,
    })
  })

  const absent = (Object.keys(ROLLOUT_TRANSITIONS) as RolloutStatus[]).flatMap((status) =>
    EVENTS.filter((event) => ROLLOUT_TRANSITIONS[status][event] === undefined).map((event) => [status, event] as const),
  )

  it.each(absent)('of a %s rollout by %s is a conflict', (status, event) => {
    expect(() => transition(rollout(status), event, now)).toThrow(`A rollout that is ${status} cannot be`)
  })

  it.each([
    ['pending', 'advance', 'A rollout that is pending cannot be advanced. Start it first, or delete it.'],
    ['active', 'start', 'A rollout that is active cannot be started.'],
    ['paused', 'advance', 'A rollout that is paused cannot be advanced. Resume it first.'],
    ['completed', 'pause', 'A rollout that is completed cannot be paused. It can only be rolled back.'],
    ['rolled_back', 'resume', 'A rollout that is rolled_back cannot be resumed. Create another rollout.'],
  ] as const)('of a %s rollout by %s names the alternative', (status, event, message) => {
    expect(() => transition(rollout(status), event, now)).toThrow(new RegExp(`^${message.replaceAll('.', '\\.')}$`))
  })

  it('is tested for all 50 combinations of status and event, 36 of them conflicts', () => {
    expect(absent).toHaveLength(36)
  })

  it('never steps beyond the target, but raises it with a higher percentage', () => {
    const near = rollout('active', { percentage: 45 })
    expect(transition(near, 'step', now)).toMatchObject({ percentage: 50, targetPercentage: 50 })
    expect(transition(near, 'set_percentage', now, { percentage: 80 })).toMatchObject({
      percentage: 80,
      targetPercentage: 80,
    })
  })
})

describe('health', () => {
  const because = (active: number, failed: number, commonReason: string | null = null) =>
    unhealthyBecause({ active, failed, commonReason })

  it('holds at up to 5% failures, and before three devices have reported', () => {
    expect([because(0, 0), because(0, 2), because(1, 1), because(19, 1), because(95, 5)]).toEqual(Array(5).fill(null))
  })

  it('fails above that, with a reason', () => {
    expect(because(2, 1, 'out of memory')).toBe(
      '1 of 3 reporting devices failed (33.3%; the limit is 5%). Most often: out of memory',
    )
    expect(because(0, 3)).toBe('3 of 3 reporting devices failed (100.0%; the limit is 5%).')
    expect(because(94, 5)).toBe('5 of 99 reporting devices failed (5.1%; the limit is 5%).')
  })
})

describe('what is due', () => {
  const well = { active: 100, failed: 0, commonReason: null }
  const ill = { active: 1, failed: 9, commonReason: null }

  it('is a step when due, the end at the target, and a pause at any time', () => {
    expect(dueEvent(rollout('active'), well, false, now)).toBe('step')
    expect(dueEvent(rollout('active', { nextStepAt: inAnHour }), well, false, now)).toBeNull()
    expect(dueEvent(rollout('active', { percentage: 50 }), well, false, now)).toBe('reach')
    expect(dueEvent(rollout('active', { nextStepAt: inAnHour }), ill, false, now)).toBe('fail_health')
  })

  it('is the end as soon as every device runs the version, unless its health fails', () => {
    const early = rollout('active', { nextStepAt: inAnHour })
    expect(dueEvent(early, well, true, now)).toBe('reach')
    expect(dueEvent(early, ill, true, now)).toBe('fail_health')
  })

  it('is an early end only at 100 percent, and not if only its creator may end it', () => {
    const at = (percentage: number, fields: object = {}) =>
      mayEndEarly(rollout('active', { percentage, targetPercentage: percentage, ...fields }))
    expect([at(100), at(99), at(100, { stepIntervalSeconds: NO_STEPS_SECONDS })]).toEqual([true, false, false])
    expect(mayEndEarly(rollout('paused', { percentage: 100, targetPercentage: 100 }))).toBe(false)
  })

  it('is nothing for a rollout that is not active', () => {
    for (const status of ['pending', 'paused', 'completed', 'rolled_back'] as const) {
      expect(dueEvent(rollout(status), ill, false, now)).toBeNull()
    }
  })
})

describe('a schedule of steps', () => {
  const steps = { percentage: 10, targetPercentage: 100, incrementStep: 40, stepIntervalSeconds: 60 }

  it('is previewed up to its target', () => {
    expect(previewSchedule(steps)).toEqual([
      { atSeconds: 0, percentage: 10 },
      { atSeconds: 60, percentage: 50 },
      { atSeconds: 120, percentage: 90 },
      { atSeconds: 180, percentage: 100 },
    ])
    expect(previewSchedule({ ...steps, percentage: 100 })).toEqual([{ atSeconds: 0, percentage: 100 }])
  })

  it('is refused if its target is below its start', () => {
    expect(() => requireSteps({ ...steps, targetPercentage: 9 })).toThrow('target_percentage (9)')
    expect(() => requireSteps({ ...steps, targetPercentage: 10 })).not.toThrow()
  })
})
