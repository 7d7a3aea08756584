import { describe, expect, it } from 'vitest'
import { mayDisclose, visibleEvaluation, visibleSummaries } from './disclosure.ts'
import { type MetricReport, summarizeEvaluation, summarizeMetrics } from './metrics.ts'

const reports = (count: number, name = 'f1'): MetricReport[] =>
  Array.from({ length: count }, (_, index) => ({ numSamples: 1, metrics: { [name]: index } }))

/** The metrics, seen by an organization with this many devices that reported each, beside other organizations with these. */
const seen = (devices: number, own: number, others: readonly number[], minGroupSize = 5) =>
  visibleSummaries(summarizeMetrics(reports(devices)), () => ({ own, others, minGroupSize })).f1

describe("what an organization sees of other organizations' metrics", () => {
  it('includes everything if all devices are its own', () => {
    expect(seen(1, 1, [])).toEqual(summarizeMetrics(reports(1)).f1)
  })

  it('excludes metrics of fewer than five devices of others, even by subtracting its own', () => {
    expect(seen(4, 0, [4])).toBeUndefined()
    expect(seen(5, 0, [5])).toBeDefined()
    expect(seen(8, 4, [4])).toBeUndefined()
    expect(seen(9, 4, [5])).toBeDefined()
  })

  it('excludes metrics of fewer than five devices of one of the others, whose averages could be subtracted too', () => {
    expect(seen(13, 6, [6, 1])).toBeUndefined()
    expect(seen(17, 6, [6, 5])).toBeDefined()
    expect(seen(12, 0, [6, 6])).toBeDefined()
  })

  it('never includes a single device’s value: no minimum or maximum, and median and worst tenth only for many devices', () => {
    expect(seen(5, 0, [5])).toEqual({ mean: 2, median: null, worstTenth: null, min: null, max: null, devices: 5 })
    expect(seen(49, 0, [49])).toMatchObject({ median: null, worstTenth: null })
    expect(seen(50, 0, [50])).toEqual({ mean: 24.5, median: 24.5, worstTenth: 2, min: null, max: null, devices: 50 })
  })

  it('excludes a worst tenth that few devices of others are in, and a median that own devices can move', () => {
    // Up to nine of the ten worst devices may be its own.
    expect(seen(100, 9, [91])).toMatchObject({ median: null, worstTenth: null })
    expect(seen(140, 9, [131])).toMatchObject({ median: 69.5, worstTenth: 6.5 })
  })

  it("excludes a worst tenth that could be all but a few of an organization's devices, whose average may be known", () => {
    expect(seen(50, 0, [44, 6])).toMatchObject({ mean: 24.5, median: null, worstTenth: null })
    expect(seen(50, 0, [41, 9])).toMatchObject({ median: null, worstTenth: null })
    expect(seen(50, 0, [40, 10])).toMatchObject({ median: 24.5, worstTenth: 2 })
  })

  it('excludes everything after a device was erased, which may have been the only one of its organization', () => {
    expect(seen(7, 1, [5])).toBeUndefined()
    expect(seen(7, 6, [])).toBeUndefined()
    expect(seen(7, 0, [6])).toBeUndefined()
  })

  it('follows the setting of the strictest organization', () => {
    expect(mayDisclose({ own: 0, others: [9], minGroupSize: 10 }, 9)).toBe(false)
    expect(mayDisclose({ own: 0, others: [10], minGroupSize: 10 }, 10)).toBe(true)
  })

  it('excludes an evaluation without visible metrics', () => {
    const shown = (devices: number, others: number[]) =>
      visibleEvaluation(summarizeEvaluation(reports(devices))!, () => ({ own: 1, others, minGroupSize: 5 }))
    expect(shown(4, [3])).toBeNull()
    expect(shown(6, [5])).toMatchObject({ devices: 6 })
  })
})
