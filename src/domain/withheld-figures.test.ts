import { describe, expect, it } from 'vitest'
import { type MetricReport, summarizeEvaluation, summarizeMetrics } from './metrics.ts'
import { mayShow, shownEvaluation, shownSummaries } from './withheld-figures.ts'

const reports = (count: number, name = 'f1'): MetricReport[] =>
  Array.from({ length: count }, (_, index) => ({ numSamples: 1, metrics: { [name]: index } }))

describe("what an organization sees of other organizations' metrics", () => {
  it('includes everything if all devices are its own', () => {
    const summaries = summarizeMetrics(reports(1))
    expect(shownSummaries(summaries, { all: 1, counted: 1, own: 1, fewest: 5 })).toEqual(summaries)
  })

  it('excludes metrics of fewer than five devices of others, even by subtracting its own', () => {
    const seen = (devices: number, own: number) =>
      Object.keys(
        shownSummaries(summarizeMetrics(reports(devices)), { all: devices, counted: devices, own, fewest: 5 }),
      )
    expect(seen(4, 0)).toEqual([])
    expect(seen(5, 0)).toEqual(['f1'])
    expect(seen(8, 4)).toEqual([])
    expect(seen(9, 4)).toEqual(['f1'])
    // If only some of the devices reported the metric, all of these may belong to others.
    expect(shownSummaries(summarizeMetrics(reports(4)), { all: 20, counted: 20, own: 4, fewest: 5 })).toEqual({})
  })

  it('never includes a single device’s value: no minimum or maximum, and median and worst tenth only for many devices', () => {
    const shown = (devices: number) =>
      shownSummaries(summarizeMetrics(reports(devices)), { all: devices, counted: devices, own: 0, fewest: 5 }).f1
    expect(shown(5)).toEqual({ mean: 2, median: null, worstTenth: null, min: null, max: null, devices: 5 })
    expect(shown(49)).toMatchObject({ median: null, worstTenth: null })
    expect(shown(50)).toEqual({ mean: 24.5, median: 24.5, worstTenth: 2, min: null, max: null, devices: 50 })
  })

  it('counts erased devices as its own, but not as a reason to show everything', () => {
    const seen = (sources: { counted: number; own: number }) =>
      Object.keys(shownSummaries(summarizeMetrics(reports(6)), { all: 6, fewest: 5, ...sources }))
    // It erased four of its five devices; the sixth is another's.
    expect(seen({ counted: 2, own: 1 })).toEqual([])
    // All others were erased: five of them, or one.
    expect(seen({ counted: 1, own: 1 })).toEqual([])
    expect(seen({ counted: 5, own: 5 })).toEqual([])
    expect(seen({ counted: 6, own: 1 })).toEqual(['f1'])
  })

  it('follows the setting of the strictest organization', () => {
    expect(mayShow({ all: 9, counted: 9, own: 0, fewest: 10 }, 9)).toBe(false)
    expect(mayShow({ all: 10, counted: 10, own: 0, fewest: 10 }, 10)).toBe(true)
  })

  it('excludes an evaluation without visible metrics', () => {
    const evaluation = summarizeEvaluation(reports(4))!
    expect(shownEvaluation(evaluation, { all: 4, counted: 4, own: 1, fewest: 5 })).toBeNull()
    expect(shownEvaluation(summarizeEvaluation(reports(6))!, { all: 6, counted: 6, own: 1, fewest: 5 })).toMatchObject({
      devices: 6,
    })
  })
})
