import {
  bootstrapInterval,
  type Interval,
  mcNemarTest,
  meanOf,
  quantile,
  signFlipTest,
} from '../../convert/evaluate/paired.ts'
import { intervalOf } from '../../inference/runtime/routing/calibrate.ts'
import type { LineResult } from './eval-results.ts'

export const METRICS = ['similarity', 'exact_match', 'latency'] as const

export type Metric = (typeof METRICS)[number]

interface Mean {
  readonly mean: number
  readonly lines: number
  /** 95% confidence interval. */
  readonly interval: Interval
}

/** Summary of a model's results. A metric is null if not requested, or if no line has an expected output. */
export interface Summary {
  readonly model: string
  readonly lines: number
  /** Lines that the server refused; they count as 0. */
  readonly refused: number
  readonly similarity: Mean | null
  readonly exactMatch: Mean | null
  readonly latencyMs: { readonly p50: number; readonly p95: number } | null
  readonly errors: readonly { readonly line: number; readonly error: string }[]
}

/** Why the server refused the line, or its similarity was not measured; null without an error. */
export const errorOf = ({ error, similarity_error: unmeasured = null }: LineResult): string | null =>
  error ?? (unmeasured === null ? null : `no similarity: ${unmeasured}`)

/** Compares without regard to whitespace around and between words. */
export const isExactMatch = (output: string, expected: string): boolean => {
  const plain = (text: string): string => text.trim().replace(/\s+/g, ' ')
  return plain(output) === plain(expected)
}

type Value = (result: LineResult) => number | null

const similarityIn: Value = ({ similarity }) => similarity

const matchIn: Value = ({ exact_match: match }) => (match === null ? null : Number(match))

const numbers = (results: readonly LineResult[], valueIn: Value): number[] =>
  results.map(valueIn).filter((value) => value !== null)

export const summarize = (model: string, results: readonly LineResult[], metrics: readonly Metric[]): Summary => {
  const [similar, exact] = [numbers(results, similarityIn), numbers(results, matchIn)]
  const latencies = results.filter(({ error }) => error === null).map(({ latency_ms: ms }) => ms)
  const wilson = (values: readonly number[]): Interval => {
    const [lower, upper] = intervalOf(values)
    return { lower, upper }
  }
  const mean = (values: readonly number[], intervalFor: (values: readonly number[]) => Interval): Mean | null =>
    values.length === 0 ? null : { mean: meanOf(values), lines: values.length, interval: intervalFor(values) }
  return {
    model,
    lines: results.length,
    refused: results.filter(({ error }) => error !== null).length,
    similarity: mean(similar, bootstrapInterval),
    exactMatch: mean(exact, wilson),
    latencyMs:
      metrics.includes('latency') && latencies.length > 0
        ? { p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95) }
        : null,
    errors: results.flatMap((result) => {
      const error = errorOf(result)
      return error === null ? [] : [{ line: result.line, error }]
    }),
  }
}

/** The first model minus the second one, line by line; lines that one of them has no value for are left out. */
export interface Comparison {
  readonly metric: 'similarity' | 'exact_match'
  readonly difference: number
  readonly interval: Interval
  readonly test: string
  readonly pValue: number
}

export const compare = (one: readonly LineResult[], other: readonly LineResult[]): readonly Comparison[] => {
  const pairs = (valueIn: Value): number[] =>
    one.flatMap((result, index) => {
      const [left, right] = [valueIn(result), valueIn(other[index]!)]
      return left === null || right === null ? [] : [left - right]
    })
  const [similar, exact] = [pairs(similarityIn), pairs(matchIn)]
  const of = (metric: Comparison['metric'], differences: number[], test: string, pValue: number): Comparison => ({
    metric,
    difference: meanOf(differences),
    interval: bootstrapInterval(differences),
    test,
    pValue,
  })
  const count = (sign: number): number => exact.filter((difference) => difference === sign).length
  return [
    ...(similar.length > 0 ? [of('similarity', similar, 'paired permutation', signFlipTest(similar))] : []),
    ...(exact.length > 0 ? [of('exact_match', exact, 'McNemar', mcNemarTest(count(1), count(-1)))] : []),
  ]
}
