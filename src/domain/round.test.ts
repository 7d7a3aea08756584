import { describe, expect, it } from 'vitest'
import { dueEvent, NEXT, nextStatus, type RoundEvent, type RoundStatus, stragglerGraceSeconds } from './round.ts'

const statuses: RoundStatus[] = ['pending', 'active', 'aggregating', 'completed', 'failed']
const events: RoundEvent[] = ['start', 'collect', 'time_out', 'complete', 'fail']

describe('the round table', () => {
  it('is exactly this', () => {
    expect(NEXT).toEqual({
      pending: { start: 'active', fail: 'failed' },
      active: { collect: 'aggregating', time_out: 'failed', fail: 'failed' },
      aggregating: { complete: 'completed', fail: 'failed' },
      completed: {},
      failed: {},
    })
  })

  it.each(statuses.flatMap((status) => events.map((event) => [status, event] as const)))(
    'takes %s on %s to its row, or conflicts where the row is absent',
    (status, event) => {
      const next = NEXT[status][event]
      if (next !== undefined) expect(nextStatus(status, event)).toBe(next)
      else expect(() => nextStatus(status, event)).toThrow(`A round that is ${status} cannot`)
    },
  )
})

describe('when an active round moves on', () => {
  const started = new Date('2026-01-01T00:00:00Z')
  const second = (seconds: number) => new Date(started.getTime() + seconds * 1000)
  const round = {
    minDevices: 2,
    takingPart: 3,
    completedDevices: 0,
    wantedUpdates: null,
    quorumAt: null,
    timeoutAt: second(300),
    graceSeconds: 30,
    closesAt: null,
  }

  it('waits while too few updates are in', () => {
    expect(dueEvent({ ...round, completedDevices: 1 }, second(299))).toBeNull()
  })
  it('gives up at the timeout with too few', () => {
    expect(dueEvent({ ...round, completedDevices: 1 }, second(300))).toBe('time_out')
  })
  it('collects at once when everybody has reported', () => {
    expect(dueEvent({ ...round, completedDevices: 3, quorumAt: second(10) }, second(10))).toBe('collect')
  })
  it('collects when those that remain after failures have all delivered', () => {
    expect(dueEvent({ ...round, takingPart: 2, completedDevices: 2, quorumAt: second(10) }, second(11))).toBe('collect')
  })
  it('collects at once when the updates that are wanted are in, though more devices were selected', () => {
    const overSelected = { ...round, takingPart: 5, wantedUpdates: 3, quorumAt: second(10) }
    expect(dueEvent({ ...overSelected, completedDevices: 2 }, second(11))).toBeNull()
    expect(dueEvent({ ...overSelected, completedDevices: 3 }, second(11))).toBe('collect')
  })
  it('gives stragglers their grace and no more', () => {
    const quorate = { ...round, completedDevices: 2, quorumAt: second(10) }
    expect(dueEvent(quorate, second(39.9))).toBeNull()
    expect(dueEvent(quorate, second(40))).toBe('collect')
  })
  it('never lets the grace run past the timeout', () => {
    const late = { ...round, completedDevices: 2, quorumAt: second(290) }
    expect(dueEvent(late, second(300))).toBe('collect')
  })
  it('does not collect below the minimum, however many failed', () => {
    expect(dueEvent({ ...round, takingPart: 1, completedDevices: 1 }, second(100))).toBeNull()
  })
})

describe('the straggler grace', () => {
  it.each([
    [60, 6],
    [20, 5],
    [300, 30],
    [3600, 60],
  ])('of a %i s round is %i s', (timeout, grace) => {
    expect(stragglerGraceSeconds(timeout)).toBe(grace)
  })
})
