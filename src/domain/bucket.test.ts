import { describe, expect, it } from 'vitest'
import { bucketOf, bucketsIn, murmur3 } from './bucket.ts'

describe('murmur3', () => {
  // Published test vectors of MurmurHash3_x86_32.
  it.each([
    ['', 0, 0],
    ['', 1, 0x514e28b7],
    ['', 0xffffffff, 0x81f16f39],
    ['test', 0, 0xba6bd213],
    ['test', 0x9747b28c, 0x704b81dc],
    ['Hello, world!', 0, 0xc0363e43],
    ['Hello, world!', 0x9747b28c, 0x24884cba],
    ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
    ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
    ['aaa', 0x9747b28c, 0x283e0130],
    ['ππππππππ', 0x9747b28c, 0xd58063c1],
  ])('of %j with seed %i is %i', (text, seed, hash) => {
    expect(murmur3(text, seed)).toBe(hash)
  })
})

describe('a bucket', () => {
  const devices = Array.from({ length: 100_000 }, (_, n) => `device-${n}`)

  it('is the same as when the first devices were assigned', () => {
    expect(['phone-1', 'phone-2', 'robot', 'Gerät-7'].map((id) => bucketOf(id, 'plan-a').toFixed(6))).toEqual([
      '71.867856',
      '73.617563',
      '36.205999',
      '98.110394',
    ])
  })

  it('is the same when many are computed for one plan, whatever the lengths and characters', () => {
    for (const plan of ['', 'a', 'ab', 'abc', 'plan', 'größe', '0b2f7f7e-6a55-4c0e-9b53-2f4c1c9b8d11']) {
      const inPlan = bucketsIn(plan)
      for (const id of ['', 'x', 'xy', 'xyz', 'phone-1', 'robot', 'Gerät-7', '设备', 'x'.repeat(255)]) {
        expect(inPlan(id)).toBe(bucketOf(id, plan))
      }
    }
  })

  it('spreads 100,000 devices evenly: chi-square over 100 bins stays under its 0.999 quantile', () => {
    const bins = new Array<number>(100).fill(0)
    for (const id of devices) bins[Math.floor(bucketOf(id, '0b2f7f7e-6a55-4c0e-9b53-2f4c1c9b8d11'))]! += 1
    const expected = devices.length / bins.length
    const chiSquare = bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    expect(chiSquare).toBeLessThan(148.23)
  })

  it('is independent of the bucket in another plan: a tenth of a tenth is in both', () => {
    const inBoth = devices.filter((id) => bucketOf(id, 'plan-a') < 10 && bucketOf(id, 'plan-b') < 10).length
    // Binomial(100000, 0.01): mean 1000, standard deviation 31.5; the limit is four of them.
    expect(Math.abs(inBoth - 1000)).toBeLessThan(126)
  })

  it('is nested: devices included at 1% are included at 5%', () => {
    const inside = (percentage: number) => devices.filter((id) => bucketOf(id, 'plan-a') < percentage)
    const five = new Set(inside(5))
    expect(inside(1).length).toBeGreaterThan(900)
    expect(inside(1).every((id) => five.has(id))).toBe(true)
  })
})
