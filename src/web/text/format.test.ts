import { describe, expect, it } from 'vitest'
import {
  bytes,
  clock,
  count,
  day,
  duration,
  elapsed,
  exact,
  measure,
  percent,
  plural,
  points,
  relative,
  shortId,
  tickLabel,
} from './format.ts'

const now = new Date('2026-01-31T12:00:00Z')
const ago = (ms: number) => relative(new Date(now.getTime() - ms), now)

describe('numbers', () => {
  it('have thousands separators and four significant digits', () => {
    expect([count(1234567), count(null), plural(1, 'device'), plural(2000, 'device')]).toEqual([
      '1,234,567',
      '–',
      '1 device',
      '2,000 devices',
    ])
    expect([0, 0.51239, 12.3456, 123.456, 4321.9, 3.2e9, 0.00001234, -0.5].map(measure)).toEqual([
      '0.0000',
      '0.5124',
      '12.35',
      '123.5',
      '4,322',
      '3.20e+9',
      '1.23e-5',
      '-0.5000',
    ])
    expect([0, 0.2, -0.5, 100, 20.5, 1000, 20_000, 4e5, 1e10, 2.5e10, 1e20, 2e-5].map(tickLabel)).toEqual([
      '0',
      '0.2',
      '-0.5',
      '100',
      '20.5',
      '1,000',
      '20,000',
      '400,000',
      '1e+10',
      '2.5e+10',
      '1e+20',
      '2e-5',
    ])
    expect([measure(Number.NaN), measure(undefined), percent(0.9131), percent(Infinity)]).toEqual([
      '–',
      '–',
      '91.3%',
      '–',
    ])
    expect(points(0.02)).toBe('2.0 percentage points')
  })

  it('of bytes and durations have their unit', () => {
    expect([0, 999, 1000, 123_456, 999_400, 999_600, 5_000_000_000, 9e21].map(bytes)).toEqual([
      '0 B',
      '999 B',
      '1.00 kB',
      '123 kB',
      '999 kB',
      '1.00 MB',
      '5.00 GB',
      '9000000 PB',
    ])
    expect(
      [12, 3400, 59_000, 59_700, 125_000, 300_000, 3_599_700, 3_720_000, 86_399_000, 90_000_000, -5].map(duration),
    ).toEqual(['12 ms', '3.4 s', '59 s', '1 min', '2 min 5 s', '5 min', '1 h', '1 h 2 min', '1 d', '1 d 1 h', '0 ms'])
  })
})

describe('times', () => {
  it('move on to the next unit instead of 60 of one', () => {
    expect([59_400, 59_600, 3_569_000, 3_590_000, 84_500_000, 86_000_000].map(ago)).toEqual([
      '59 s ago',
      '1 min ago',
      '59 min ago',
      '1 h ago',
      '23 h ago',
      '1 d ago',
    ])
  })

  it('are relative to now, in the past or future', () => {
    expect([0, 42_000, 120_000, 7_200_000, 172_800_000, -720_000].map(ago)).toEqual([
      'just now',
      '42 s ago',
      '2 min ago',
      '2 h ago',
      '2 d ago',
      'in 12 min',
    ])
  })

  it('on an axis are as precise as their spacing, and midnight is shown as a date', () => {
    const from = new Date(2026, 2, 3, 23, 59).getTime() / 1000
    expect(clock([from, from + 60, from + 120], 'en-US')).toEqual(['23:59', 'Mar 4', '00:01'])
    expect(clock([from + 30, from + 35], 'en-US')).toEqual(['23:59:30', '23:59:35'])
    expect(clock([from, from + 86_400], 'en-US')).toEqual(['Mar 3', 'Mar 4'])
    expect([day(new Date(2026, 2, 3, 23, 59), 'en-US'), exact(new Date(2026, 2, 3, 9, 5), 'de')]).toEqual([
      'Mar 3, 2026',
      '03.03.2026, 09:05:00',
    ])
  })

  it('count until now while something is in progress', () => {
    expect(elapsed('2026-01-31T11:59:00Z', null, now)).toBe(60_000)
    expect(elapsed('2026-01-31T11:59:00Z', '2026-01-31T11:59:30Z', now)).toBe(30_000)
    expect(elapsed(null, null, now)).toBeNull()
  })
})

it('shortens UUIDs and SHA-256 hashes, but not names', () => {
  const ids = ['0b6c4f0e-1111-4222-8333-444455556666', 'ab'.repeat(32), 'pixel-7']
  expect(ids.map(shortId)).toEqual(['0b6c4f0e', 'abababab', 'pixel-7'])
})
