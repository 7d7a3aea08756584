import { describe, expect, it } from 'vitest'
import { type MetricReport, readMetrics, summarizeEvaluation, summarizeMetrics, weightedMean } from './metrics.ts'

const of = (name: string, values: readonly number[], samples: readonly number[] = []): MetricReport[] =>
  values.map((value, index) => ({ numSamples: samples[index] ?? 1, metrics: { [name]: value } }))

describe('a summary of metrics', () => {
  it('uses sample weights only for the mean, and counts the devices that reported', () => {
    expect(summarizeMetrics([...of('f1', [1, 0.5], [1, 3]), { numSamples: 9, metrics: { loss: 2 } }])).toEqual({
      f1: { mean: 0.625, median: 0.75, worstTenth: 0.5, min: 0.5, max: 1, devices: 2 },
      loss: { mean: 2, median: 2, worstTenth: 2, min: 2, max: 2, devices: 1 },
    })
  })

  it('takes the worst tenth from the worse end: the highest losses, but the lowest of other metrics', () => {
    const values = Array.from({ length: 20 }, (_, index) => index)
    expect(summarizeMetrics(of('val/rmse', values))['val/rmse']).toMatchObject({ worstTenth: 18.5, median: 9.5 })
    expect(summarizeMetrics(of('f1', values)).f1).toMatchObject({ worstTenth: 0.5 })
  })

  it('is finite for the largest allowed numbers', () => {
    const reports = of('x', [3.4e38, 3.4e38, -3.4e38], [Number.MAX_SAFE_INTEGER, 1, 1])
    const summary = summarizeEvaluation(reports)!
    expect(Object.values(summary.metrics.x!).every(Number.isFinite)).toBe(true)
    expect(summary.numSamples).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('has means within the range of the values, whatever floating point makes of them', () => {
    const three = of('loss', [0.1, 0.1, 0.1], [3, 7, 11])
    const { mean, min, max, worstTenth } = summarizeMetrics(three).loss!
    expect([mean, min, max, worstTenth]).toEqual([0.1, 0.1, 0.1, 0.1])
    const values = Array.from({ length: 30 }, () => 0.7)
    expect(summarizeMetrics(of('loss', values)).loss).toMatchObject({ mean: 0.7, worstTenth: 0.7 })
    expect(weightedMean(values.map((value) => ({ value, numSamples: 3 })))).toBe(0.7)
    expect(weightedMean([{ value: 1, numSamples: 0 }])).toBeNull()
    expect(summarizeMetrics(of('f1', [1, 0.5], [0, 0])).f1).toMatchObject({ mean: 0.75 })
  })

  it('takes the worse end from the goal that is stated for the metric', () => {
    const reports = of('drift', [1, 2, 3])
    expect(summarizeMetrics(reports, { metric: 'drift', goal: 'minimize' }).drift).toMatchObject({ worstTenth: 3 })
    const stated = { metric: 'evaluation.drift', goal: 'minimize' } as const
    expect(summarizeEvaluation(reports, stated)!.metrics.drift).toMatchObject({ worstTenth: 3 })
    expect(summarizeMetrics(reports, { metric: 'other', goal: 'minimize' }).drift).toMatchObject({ worstTenth: 1 })
  })

  it('keeps the 64 names that most devices reported', () => {
    const stray = Array.from({ length: 100 }, (_, index) => of(`a${index}`, [1])[0]!)
    const kept = Object.keys(summarizeMetrics([...stray, ...of('z', [1, 2])]))
    expect(kept).toHaveLength(64)
    expect(kept).toContain('z')
  })

  it('contains only names that were reported', () => {
    expect(summarizeMetrics([{ numSamples: 1, metrics: {} }])).toEqual({})
    expect(Object.keys(summarizeMetrics(of('constructor', [1, 2])))).toEqual(['constructor'])
    expect(summarizeEvaluation([])).toBeNull()
  })
})

describe('reported metrics', () => {
  it('keep values in range, and list the others', () => {
    expect(
      readMetrics('metrics', { f1: 0.8, tiny: 1e-300, huge: 1e39, inf: Number.POSITIVE_INFINITY, no: null }),
    ).toEqual({ metrics: { f1: 0.8, tiny: 0 }, outside: ['huge', 'inf'] })
  })

  it.each([
    [[0.8], 'metrics must be an object of numbers such as {"f1": 0.8}, got [0.8].'],
    [{ f1: '0.8' }, 'metrics.f1 must be a number, got "0.8".'],
    [{ f1: { micro: 1 } }, 'metrics.f1 must be a number, got {"micro":1}.'],
    [{ accuracy: 80 }, 'metrics.accuracy must be from 0 to 1, got 80.'],
    [{ '1st': 1 }, "metrics: '1st' is not a metric's name"],
    [{ 'evaluation.f1': 1 }, "not beginning with 'evaluation.'"],
    [Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`m${n}`, n])), 'metrics has 33 metrics; at most 32'],
  ])('refuse %j', (value, message) => {
    expect(() => readMetrics('metrics', value)).toThrow(message)
  })
})
