import { describe, expect, it } from 'vitest'
import { privateDueEvent, requireMayInspect } from './private-round.ts'

const started = Date.UTC(2026, 0, 1)
const second = (seconds: number) => new Date(started + seconds * 1000)
const round = { minDevices: 2, takingPart: 4, completedDevices: 0, closesAt: second(60) }

describe('a private round', () => {
  it('never closes early while a device is still training, however many updates have arrived', () => {
    for (const completedDevices of [0, 1, 2, 3]) {
      expect(privateDueEvent({ ...round, completedDevices }, second(59.999))).toBeNull()
    }
  })

  it('closes at the time fixed at its start with the updates it has; with too few it fails', () => {
    expect(privateDueEvent({ ...round, completedDevices: 2 }, second(60))).toBe('collect')
    expect(privateDueEvent({ ...round, completedDevices: 1 }, second(60))).toBe('time_out')
  })

  it('ends at once when all devices have reported', () => {
    expect(privateDueEvent({ ...round, completedDevices: 4 }, second(1))).toBe('collect')
    expect(privateDueEvent({ ...round, takingPart: 3, completedDevices: 3 }, second(1))).toBe('collect')
    expect(privateDueEvent({ ...round, takingPart: 1, completedDevices: 1 }, second(1))).toBe('time_out')
  })

  it('takes the same updates from others whether one device delivers, fails or is silent, in any order of arrival', () => {
    // The updates that have arrived when it closes, if four devices deliver at these seconds.
    const taken = (times: readonly (number | null)[]): string => {
      const order = times.flatMap((at, device) => (at === null ? [] : [{ at, device }])).sort((a, b) => a.at - b.at)
      const inside: number[] = []
      for (const { at, device } of order) {
        if (privateDueEvent({ ...round, completedDevices: inside.length }, second(at)) !== null) break
        inside.push(device)
      }
      return inside.sort().join('')
    }
    const moments = [null, 5, 20, 59, 61]
    for (const a of moments)
      for (const b of moments)
        for (const c of moments) {
          const without = taken([null, a, b, c])
          for (const x of moments) expect(taken([x, a, b, c]).replace('0', '')).toBe(without)
        }
  })

  it('shows its participants only to admins of its organization; other rounds are visible to all', () => {
    const reader = { keyId: '', orgId: 'acme', deviceId: null, grants: ['training:read', 'training:write'] } as const
    const admin = { ...reader, grants: ['admin'] } as const
    const round = { privacy: {}, orgId: 'acme' }
    expect(() => requireMayInspect(reader, round)).toThrow("only with the scope 'admin'")
    expect(() => requireMayInspect(reader, { ...round, privacy: null })).not.toThrow()
    expect(() => requireMayInspect(admin, round)).not.toThrow()
    expect(() => requireMayInspect({ ...admin, orgId: null }, round)).not.toThrow()
    // A federation's round.
    expect(() => requireMayInspect({ ...admin, orgId: 'beta' }, round)).toThrow("only with the scope 'admin'")
  })
})
