import { describe, expect, it } from 'vitest'
import { outsideWarning, reportedNumber, reportedValues } from './reported-number.ts'

describe('a reported number', () => {
  it.each([
    [3.4e38, 3.4e38],
    [-3.4e38, -3.4e38],
    [3.4001e38, null],
    [-3.4001e38, null],
    [Number.MAX_VALUE, null],
    [Infinity, null],
    [-Infinity, null],
    [Number.NaN, null],
    [1e-38, 1e-38],
    [-1e-38, -1e-38],
    [9.999e-39, 0],
    [-9.999e-39, 0],
    [5e-324, 0],
    [-0, 0],
    [0, 0],
    [0.1, 0.1],
  ])('%d is kept as %d', (value, kept) => expect(reportedNumber(value)).toBe(kept))
})

describe('reported values', () => {
  it('are returned as the same object if nothing is out of range', () => {
    const metrics = { cpu: 1, deep: { list: [1, 'a', null, true] }, none: null }
    const { values, outside } = reportedValues(metrics)
    expect(values).toBe(metrics)
    expect(outside).toEqual([])
  })

  it('lose only the numbers out of range, at any depth, and list them; the input is unchanged', () => {
    const sent = { loss: 1e200, cpu: 2, tiny: 1e-300, deep: { list: [1, -Infinity], note: '1e999' } }
    expect(reportedValues(sent)).toEqual({
      values: { loss: null, cpu: 2, tiny: 0, deep: { list: [1, null], note: '1e999' } },
      outside: ['loss', '1'],
    })
    expect(sent.loss).toBe(1e200)
  })

  it('are listed with at most five names in warnings', () => {
    expect(outsideWarning('metrics', ['a'])).toBe("metrics: 'a' became null; numbers from -3.4e38 to 3.4e38 are kept")
    expect(outsideWarning('metrics', [...'abcdefg'])).toContain("'e', and 2 more became null")
  })
})
