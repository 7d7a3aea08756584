import { describe, expect, it } from 'vitest'
import {
  activatedAt,
  DEPLOYMENT_TRANSITIONS,
  deadlineOfNextPhase,
  dueEvent,
  nextStatus,
  type Progress,
  type Reported,
} from './deployment.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour))

describe('the table of deployments', () => {
  it('has exactly these rows', () => {
    expect(DEPLOYMENT_TRANSITIONS).toEqual({
      pending_approval: { approve: 'started', reject: 'rejected' },
      started: {
        complete: 'completed',
        fail: 'failed',
        rollback: 'rolled_back',
        promote: 'started',
        replace: 'started',
        switch: 'started',
      },
      completed: { rollback: 'rolled_back', promote: 'started' },
      failed: {},
      rolled_back: {},
      rejected: {},
    })
  })

  it('is followed; what it does not list is a conflict', () => {
    expect(nextStatus('started', 'fail')).toBe('failed')
    expect(() => nextStatus('failed', 'promote')).toThrow(
      expect.objectContaining({ code: 'conflict', message: expect.stringContaining('cannot be promoted') }),
    )
  })
})

describe('what a started deployment must do', () => {
  const canary: Progress = { strategy: 'canary', switched: false, deadlineAt: at(10) }
  const reported = (counts: Partial<Reported>): Reported => ({
    activated: 10,
    ready: 0,
    active: 0,
    failed: 0,
    commonReason: null,
    ...counts,
  })

  it.each([
    ['nothing while devices are at work', canary, { active: 9 }, 0, null],
    ['completes when every device runs it', canary, { active: 10 }, 0, 'complete'],
    ['is not withdrawn for one failure of two reports', canary, { active: 1, failed: 1 }, 0, null],
    ['is withdrawn for one failure of three reports', canary, { active: 2, failed: 1 }, 0, 'fail'],
    ['is withdrawn when its only device failed', canary, { activated: 1, failed: 1 }, 0, 'fail'],
    ['goes on with five failures in a hundred', canary, { activated: 200, active: 95, failed: 5 }, 0, null],
    ['is withdrawn at six in a hundred', canary, { activated: 200, active: 94, failed: 6 }, 0, 'fail'],
    ['is judged at the end when immediate', { ...canary, strategy: 'immediate' }, { active: 2, failed: 7 }, 0, null],
    ['and then is withdrawn', { ...canary, strategy: 'immediate' }, { active: 3, failed: 7 }, 0, 'fail'],
    ['does nothing while nobody is activated', canary, { activated: 0 }, 0, null],
    ['fails at the deadline when nobody made it', canary, {}, 10, 'fail'],
    ['completes at the deadline with those who made it', canary, { active: 1 }, 10, 'complete'],
  ] as const)('%s', (_, progress, counts, hour, event) => {
    expect(dueEvent(progress, reported(counts), at(hour))?.event ?? null).toBe(event)
  })

  it('gives the reason, and how many devices are missing', () => {
    const failures = reported({ active: 2, failed: 1, commonReason: 'no space' })
    expect(dueEvent(canary, failures, at(0))?.reason).toBe(
      '1 of 3 reporting devices failed (the limit is 5%). Most often: no space',
    )
    expect(dueEvent(canary, reported({ active: 8 }), at(10))?.reason).toBe(
      '8 of 10 devices run it; 2 had not reported and may catch up.',
    )
  })

  const blueGreen: Progress = { ...canary, strategy: 'blue_green' }
  it.each([
    ['waits until all are ready', blueGreen, { ready: 9 }, 0, null],
    ['switches when all are', blueGreen, { ready: 10 }, 0, 'switch'],
    ['changes nothing on devices when they are not all ready in time', blueGreen, { ready: 9 }, 10, 'fail'],
    ['then waits until all run it', { ...blueGreen, switched: true }, { ready: 4, active: 6 }, 0, null],
    ['and completes', { ...blueGreen, switched: true }, { active: 10 }, 0, 'complete'],
  ] as const)('blue_green %s', (_, progress, counts, hour, event) => {
    expect(dueEvent(progress, reported(counts), at(hour))?.event ?? null).toBe(event)
  })
})

describe('the deadline of the next phase', () => {
  it.each([
    ['is as far away as that of the phase before was', 6 * 3600, at(18)],
    ['is a minute away at least', 1, new Date(at(12).getTime() + 60_000)],
    ['is none where there was none', null, null],
  ] as const)('%s', (_, phaseSeconds, expected) => {
    expect(deadlineOfNextPhase(phaseSeconds, at(12))).toEqual(expected)
  })
})

describe('the activated devices', () => {
  const targets = Array.from({ length: 7 }, (_, n) => ({ id: `id-${n}`, deviceId: `device-${n}` }))

  it('are ceil(percentage of the targets), and stay activated when it grows', () => {
    const sizes = [0, 1, 14, 15, 50, 100].map((percentage) => activatedAt(percentage, targets, 'plan').size)
    expect(sizes).toEqual([0, 1, 1, 2, 4, 7])
    const half = activatedAt(50, targets, 'plan')
    expect([...activatedAt(20, targets, 'plan')].every((id) => half.has(id))).toBe(true)
  })

  it('match the percentage even if all devices have the same name, in any order of the targets', () => {
    const namesakes = targets.map(({ id }) => ({ id, deviceId: 'pi' }))
    expect([...activatedAt(20, namesakes, 'plan')]).toEqual(['id-0', 'id-1'])
    expect([...activatedAt(20, namesakes.reverse(), 'plan')]).toEqual(['id-0', 'id-1'])
  })
})
