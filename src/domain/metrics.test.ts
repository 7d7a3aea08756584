import { describe, expect, it } from 'vitest'
import { goalOf, type MetricReport, readMetrics, summarizeEvaluation, summarizeMetrics } from './metrics.ts'

const of = (name: string, values: readonly number[], samples: readonly number[] = []): MetricReport[] =>
  values.map((value, index) => ({ numSamples: samples[index] ?? 1, metrics: { [name]: value } }))

describe('a summary of metrics', () => {
  it('is weighted in its mean only, and counts the devices that reported', () => {
    expect(summarizeMetrics([...of('f1', [1, 0.5], [1, 3]), { numSamples: 9, metrics: { loss: 2 } }])).toEqual({
      f1: { mean: 0.625, median: 0.75, worstTenth: 0.5, min: 0.5, max: 1, devices: 2 },
      loss: { mean: 2, median: 2, worstTenth: 2, min: 2, max: 2, devices: 1 },
    })
  })

  it('has the worst tenth at the end that is worse: the highest losses, the lowest of all else', () => {
    const values = Array.from({ length: 20 }, (_, index) => index)
    expect(summarizeMetrics(of('val/rmse', values))['val/rmse']).toMatchObject({ worstTenth: 18.5, median: 9.5 })
    expect(summarizeMetrics(of('f1', values)).f1).toMatchObject({ worstTenth: 0.5 })
  })

  it('is finite for the largest numbers that are kept', () => {
    const reports = of('x', [3.4e38, 3.4e38, -3.4e38], [Number.MAX_SAFE_INTEGER, 1, 1])
    const summary = summarizeEvaluation(reports)!
    expect(Object.values(summary.metrics.x!).every(Number.isFinite)).toBe(true)
    expect(summary.numSamples).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('keeps the 64 names that most devices reported', () => {
    const stray = Array.from({ length: 100 }, (_, index) => of(`a${index}`, [1])[0]!)
    const kept = Object.keys(summarizeMetrics([...stray, ...of('z', [1, 2])]))
    expect(kept).toHaveLength(64)
    expect(kept).toContain('z')
  })

  it('knows no names but those that are there', () => {
    expect(summarizeMetrics([{ numSamples: 1, metrics: {} }])).toEqual({})
    expect(Object.keys(summarizeMetrics(of('constructor', [1, 2])))).toEqual(['constructor'])
    expect(summarizeEvaluation([])).toBeNull()
  })
})

it.each(['loss', 'val_loss', 'log-loss', 'hingeloss', 'RMSE', 'word_error', 'perplexity', 'mae@5'])(
  '%s is minimized',
  (name) => expect(goalOf(name)).toBe('minimize'),
)

it.each(['accuracy', 'f1', 'mAP@.5:.95', 'gloss', 'recall', 'sometimes', 'mean_iou'])('%s is maximized', (name) =>
  expect(goalOf(name)).toBe(name === 'gloss' ? 'minimize' : 'maximize'),
)

describe('reported metrics', () => {
  it('keep what is in range, and name what is not', () => {
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
