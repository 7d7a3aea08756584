import { describe, expect, it } from 'vitest'
import {
  describeFailures,
  dueEvent,
  hasFreePlace,
  lacksDevices,
  nextStatus,
  ROUND_TRANSITIONS,
  stragglerGraceSeconds,
} from './round.ts'

describe('the round table', () => {
  it('has exactly these rows', () => {
    expect(ROUND_TRANSITIONS).toEqual({
      pending: { start: 'active', fail: 'failed' },
      active: { collect: 'aggregating', time_out: 'failed', fail: 'failed' },
      aggregating: { complete: 'completed', fail: 'failed' },
      completed: {},
      failed: {},
    })
  })

  it('is followed; what it does not list is a conflict', () => {
    expect(nextStatus('active', 'time_out')).toBe('failed')
    expect(() => nextStatus('completed', 'fail')).toThrow('A round that is completed cannot')
  })
})

describe('when an active round ends', () => {
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

  it('waits while too few updates have arrived', () => {
    expect(dueEvent({ ...round, completedDevices: 1 }, second(299))).toBeNull()
  })
  it('fails at the timeout with too few updates', () => {
    expect(dueEvent({ ...round, completedDevices: 1 }, second(300))).toBe('time_out')
  })
  it('collects at once when all devices have reported', () => {
    expect(dueEvent({ ...round, completedDevices: 3, quorumAt: second(10) }, second(10))).toBe('collect')
  })
  it('collects when all devices that have not failed have delivered', () => {
    expect(dueEvent({ ...round, takingPart: 2, completedDevices: 2, quorumAt: second(10) }, second(11))).toBe('collect')
  })
  it('collects as soon as the requested updates have arrived, even if more devices were selected', () => {
    const overSelected = { ...round, takingPart: 5, wantedUpdates: 3, quorumAt: second(10) }
    expect(dueEvent({ ...overSelected, completedDevices: 2 }, second(11))).toBeNull()
    expect(dueEvent({ ...overSelected, completedDevices: 3 }, second(11))).toBe('collect')
  })
  it('waits for stragglers during the grace period and no longer', () => {
    const quorate = { ...round, completedDevices: 2, quorumAt: second(10) }
    expect(dueEvent(quorate, second(39.9))).toBeNull()
    expect(dueEvent(quorate, second(40))).toBe('collect')
  })
  it('never extends the grace period past the timeout', () => {
    const late = { ...round, completedDevices: 2, quorumAt: second(290) }
    expect(dueEvent(late, second(300))).toBe('collect')
  })
  it('waits for a full buffer in an asynchronous round, even if all its devices have delivered', () => {
    const buffered = { ...round, plan: { asynchronous: true }, wantedUpdates: 5, graceSeconds: 300 } as const
    const delivered = { ...buffered, completedDevices: 3, quorumAt: second(10) }
    expect(dueEvent(delivered, second(299))).toBeNull()
    expect(dueEvent({ ...delivered, takingPart: 5, completedDevices: 5 }, second(20))).toBe('collect')
    expect(dueEvent(delivered, second(300))).toBe('collect')
    expect(lacksDevices(delivered)).toBe(true)
    expect(lacksDevices({ ...delivered, takingPart: 4 })).toBe(false)
    expect(lacksDevices({ ...buffered, takingPart: 1, completedDevices: 1 })).toBe(false)
    expect(lacksDevices({ ...round, completedDevices: 3 })).toBe(false)
  })
  it('frees the place of a device that has delivered only in an asynchronous round', () => {
    const full = { targetDevices: 3, takingPart: 3, completedDevices: 1 }
    expect(hasFreePlace(full)).toBe(false)
    expect(hasFreePlace({ ...full, plan: { asynchronous: true } })).toBe(true)
    expect(hasFreePlace({ ...full, takingPart: 4, plan: { asynchronous: true } })).toBe(false)
  })
  it('does not collect below the minimum, however many failed', () => {
    expect(dueEvent({ ...round, takingPart: 1, completedDevices: 1 }, second(100))).toBeNull()
  })
})

describe('the straggler grace period', () => {
  it.each([
    [60, 6],
    [20, 5],
    [300, 30],
    [3600, 60],
  ])('of a %i s round is %i s', (timeout, grace) => {
    expect(stragglerGraceSeconds(timeout)).toBe(grace)
  })
})

describe('the description of failures', () => {
  const described = (reason: string) => describeFailures({ selected: 2, failed: 1, reasons: [{ reason, count: 1 }] })
  const trace = `${'  File "train.py", line 6, in <module>\n'.repeat(9)}ModuleNotFoundError: No module named 'nope'`

  it('shows the first and the last line of a long reason', () => {
    expect(described(`The trainer ended with exit code 1. Its output:\n${trace}`)).toBe(
      "1 of 2 devices failed: The trainer ended with exit code 1. Its output: ... ModuleNotFoundError: No module named 'nope' (1)",
    )
  })

  it('shows the last line after a long first one, and of progress that overwrote itself', () => {
    const end = `${'x'.repeat(100)} ... OSError: disk full`
    expect(described(`${'x'.repeat(250)}\nOSError: disk full`)).toBe(`1 of 2 devices failed: ${end} (1)`)
    const bar = Array.from({ length: 90 }, (_, at) => `${at}%`).join('\r')
    expect(described(`${bar}\r\nOSError: disk full`)).toBe('1 of 2 devices failed: 0% ... OSError: disk full (1)')
  })

  it('cuts a long line', () => {
    const long = 'x'.repeat(250)
    expect(described(long)).toBe(`1 of 2 devices failed: ${'x'.repeat(200)}... (1)`)
    expect(described(`first\nsecond\n${long}`)).toBe(`1 of 2 devices failed: first ... ${'x'.repeat(190)}... (1)`)
  })
})
