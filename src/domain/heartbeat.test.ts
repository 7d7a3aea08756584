import { describe, expect, it } from 'vitest'
import { nextHeartbeatSeconds } from './heartbeat.ts'

/** A linear congruential sequence (Numerical Recipes), the same in every run. */
const sequence = () => {
  let state = 1
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const idle = { urgency: null, heldSeconds: 0 }

describe('the pace of heartbeats', () => {
  it('spreads 100,000 devices that arrived in the same second, and keeps them spread', () => {
    const options = { ...idle, fleet: 100_000, random: sequence() }
    const seconds = 500
    const perSecond = new Uint32Array(seconds)
    for (let device = 0; device < options.fleet; device++) {
      for (let at = nextHeartbeatSeconds(options); at < seconds; at += nextHeartbeatSeconds(options)) perSecond[at]!++
    }
    // The target is a thousand per second. The devices start together once, and never again.
    expect(Math.max(...perSecond)).toBeLessThan(2000)
    const later = perSecond.slice(350)
    expect(Math.max(...later)).toBeLessThan(1300)
    expect(Math.min(...later)).toBeGreaterThan(750)
  })

  it("is twenty seconds for small fleets, and one or two during training if the fleet's size allows", () => {
    expect(nextHeartbeatSeconds({ ...idle, fleet: 10, random: () => 0.5 })).toBe(20)
    for (const random of [() => 0, () => 0.999999]) {
      expect(nextHeartbeatSeconds({ ...idle, fleet: 1000, urgency: 'soon', random })).toBe(1)
      expect(nextHeartbeatSeconds({ ...idle, fleet: 1000, urgency: 'now', random })).toBe(2)
    }
    expect(nextHeartbeatSeconds({ ...idle, fleet: 50_000, urgency: 'soon', random: () => 0.5 })).toBe(50)
  })

  it('keeps devices active, however large the fleet', () => {
    expect(nextHeartbeatSeconds({ ...idle, fleet: 1e9, random: () => 0.999999 })).toBe(210)
  })

  it('subtracts the time that the answer was held', () => {
    expect(nextHeartbeatSeconds({ ...idle, fleet: 40_000, heldSeconds: 15, random: () => 0.5 })).toBe(25)
    expect(nextHeartbeatSeconds({ ...idle, fleet: 10, heldSeconds: 20, random: () => 0.99 })).toBe(1)
  })
})
