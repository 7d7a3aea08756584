import { describe, expect, it } from 'vitest'
import { measure, percent } from '../text/format.ts'
import { align, aroundOne, best, shareLimits, smooth, tickLabels } from './curve-data.ts'

describe('curves', () => {
  it('of several jobs share an axis of rounds', () => {
    const series = [
      { name: 'a', points: [[1, 0.5] as const, [3, Number.NaN] as const] },
      { name: 'b', points: [[2, 0.4] as const, [3, 0.3] as const] },
    ]
    expect(align(series)).toEqual([
      [1, 2, 3],
      [0.5, null, null],
      [null, 0.4, 0.3],
    ])
    expect(align([])).toEqual([[]])
  })

  it('are smoothed without bias at the beginning, and keep gaps', () => {
    expect(smooth([4, 4, null, 4], 0.5)).toEqual([4, 4, null, 4])
    expect(smooth([0, 1], 0.5)).toEqual([0, 0.5 / 0.75])
    expect(smooth([1, 5], 0)).toEqual([1, 5])
  })

  it('have a best point, the first one of equals', () => {
    const points = [
      [1, 2],
      [2, null],
      [3, 1],
      [4, 1],
    ] as const
    expect(best(points, 'lowest')).toEqual({ x: 3, y: 1 })
    expect(best(points, 'highest')).toEqual({ x: 1, y: 2 })
    expect(best([[1, null]], 'lowest')).toBeNull()
  })

  it('label each tick differently', () => {
    expect(tickLabels([0.5, 0.6, 0.7], percent)).toEqual(['50.0%', '60.0%', '70.0%'])
    expect(tickLabels([0.999, 0.9995, 1], percent)).toEqual(['99.90%', '99.95%', '100.00%'])
    expect(tickLabels([1000, 1000.2, 1000.4], measure)).toEqual(['1000.0', '1000.2', '1000.4'])
    expect(tickLabels([1000, 1000.25, 1000.5], measure)).toEqual(['1000.00', '1000.25', '1000.50'])
    expect(tickLabels([0.999, 0.99925, 0.9995], percent)).toEqual(['99.900%', '99.925%', '99.950%'])
  })

  it('extend on both sides of a single point', () => {
    expect([aroundOne([5], 1), aroundOne([5, 6], 1), aroundOne([], 1)]).toEqual([[4, 6], null, null])
  })

  it('of shares end at 100%, also if all values are the same, unless a value is above', () => {
    const limits = (lowest: number, highest: number) => {
      const { min, max } = shareLimits(lowest, highest)
      return [min.hard, max.hard]
    }
    expect([limits(0.93, 0.93), limits(0.2, 93)]).toEqual([
      [0, 1],
      [0, 93],
    ])
  })
})
