import { conflict } from '../domain/errors.ts'
import { rulesOf } from '../domain/strategy-rules.ts'
import { decodeElements, encodeElements } from '../tensors/elements.ts'
import { BYTES_OF, elementCount, type Statistic } from '../tensors/weight-file.ts'
import type { AggregationJob } from './aggregation-messages.ts'
import type { RoundFiles } from './round-files.ts'

// Merges statistics from several devices as if computed over all their data. Attributes are named as in scikit-learn.

type Values = Record<string, Float64Array>

interface Rules {
  /** Merges the statistics `next` into `total`. */
  merge(total: Values, next: Values): void
  /** Computes the attributes derived from the merged ones. */
  finish(total: Values, options: Statistic['options']): void
}

/** Sets every element of `target` from its counterpart in `source`; does nothing if `source` is absent. */
const fill = (
  target: Float64Array | undefined,
  source: Float64Array | undefined,
  next: (value: number, index: number) => number,
): void => {
  for (const [index, value] of (source ?? []).entries()) target![index] = next(value, index)
}

const update = (values: Float64Array | undefined, next: (value: number, index: number) => number): void =>
  fill(values, values, next)

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0)

/** Chan, Golub and LeVeque 1983: combines counts, means, and variances (divided by the count) of two samples. */
const chan = (n: number, m: number, mean: readonly [number, number], variance: readonly [number, number]) => {
  if (n + m === 0) return { mean: mean[0], variance: variance[0] }
  const delta = mean[1] - mean[0]
  return {
    mean: mean[0] + (delta * m) / (n + m),
    variance: (n * variance[0] + m * variance[1] + (delta * delta * n * m) / (n + m)) / (n + m),
  }
}

const EPSILON = 2 ** -52

/** sklearn.preprocessing._data._is_constant_feature and _handle_zeros_in_scale. */
const scaleOf = (variance: number, mean: number, count: number): number => {
  const bound = count * EPSILON * variance + (count * mean * EPSILON) ** 2
  return variance <= bound ? 1 : Math.sqrt(variance)
}

const nonZero = (scale: number): number => (scale < 10 * EPSILON ? 1 : scale)

/** Reads an element of a vector, which may be a single number for all columns. */
const at = (values: Float64Array, column: number): number => values[values.length === 1 ? 0 : column]!

const extremes =
  (minima: readonly string[], maxima: readonly string[]): Rules['merge'] =>
  (total, next) => {
    for (const name of minima) update(total[name], (value, i) => Math.min(value, next[name]![i]!))
    for (const name of maxima) update(total[name], (value, i) => Math.max(value, next[name]![i]!))
  }

const counts: Rules['merge'] = (total, next) => {
  for (const name of ['class_count_', 'feature_count_', 'feature_all_'])
    update(total[name], (value, i) => value + next[name]![i]!)
}

/** sklearn.naive_bayes._BaseDiscreteNB: class priors, and each class's row of feature_log_prob_. */
const discrete = (
  logProbabilities: (row: Float64Array, alpha: number, total: Values, index: number, isNormed: boolean) => Float64Array,
): Rules => ({
  merge: counts,
  finish(total, options) {
    const { class_count_: classes, feature_count_: features, feature_log_prob_: out, class_log_prior_: prior } = total
    const alpha = options.force_alpha !== true ? Math.max(Number(options.alpha), 1e-10) : Number(options.alpha)
    const columns = features!.length / classes!.length
    for (let k = 0; k < classes!.length; k++) {
      const row = features!.subarray(k * columns, (k + 1) * columns)
      out!.set(logProbabilities(row, alpha, total, k, options.norm === true), k * columns)
    }
    if (options.fit_prior !== true || options.class_prior != null) return
    const all = Math.log(sum(classes!))
    fill(prior, classes, (count, _k) => Math.log(count) - all)
  },
})

const RULES: Readonly<Record<Statistic['kind'], Rules>> = {
  standard_scaler: {
    merge(total, next) {
      const { n_samples_seen_: n, mean_: mean, var_: variance } = total
      const { n_samples_seen_: m, mean_: other, var_: otherVariance } = next
      mean?.forEach((value, i) => {
        const pair = [variance?.[i] ?? 0, otherVariance?.[i] ?? 0] as const
        const merged = chan(at(n!, i), at(m!, i), [value, other![i]!], pair)
        mean[i] = merged.mean
        if (variance) variance[i] = merged.variance
      })
      update(n, (count, i) => count + m![i]!)
    },
    finish({ n_samples_seen_: n, mean_: mean, var_: variance, scale_: scale }) {
      fill(scale, variance, (value, i) => scaleOf(value, mean![i]!, at(n!, i)))
    },
  },
  min_max_scaler: {
    merge: extremes(['data_min_'], ['data_max_']),
    finish({ data_min_: low, data_max_: high, data_range_: range, scale_: scale, min_: min }, options) {
      const [from, to] = options.feature_range as [number, number]
      low!.forEach((value, i) => {
        range![i] = high![i]! - value
        scale![i] = (to - from) / nonZero(range![i]!)
        min![i] = from - value * scale![i]!
      })
    },
  },
  max_abs_scaler: {
    merge: extremes([], ['max_abs_']),
    finish({ max_abs_: largest, scale_: scale }) {
      fill(scale, largest, (value, _i) => nonZero(value))
    },
  },
  gaussian_nb: {
    // var_ in the file includes epsilon_, which is removed for merging.
    merge(total, next) {
      const columns = total.theta_!.length / total.class_count_!.length
      for (const values of [total, next]) update(values.var_, (value, _i) => value - values.epsilon_![0]!)
      total.epsilon_![0] = 0
      total.theta_!.forEach((theta, i, all) => {
        const k = Math.floor(i / columns)
        const pair = [total.var_![i]!, next.var_![i]!] as const
        const [n, m] = [total.class_count_![k]!, next.class_count_![k]!]
        const merged = chan(n, m, [theta, next.theta_![i]!], pair)
        all[i] = merged.mean
        total.var_![i] = merged.variance
      })
      counts(total, next)
    },
    finish(total, options) {
      const { class_count_: classes, theta_: theta, var_: variance, epsilon_: epsilon, class_prior_: prior } = total
      const columns = theta!.length / classes!.length
      update(variance, (value, _i) => value - epsilon![0]!)
      let largest = 0
      for (let i = 0; i < columns; i++) {
        let all = { mean: 0, variance: 0 }
        let seen = 0
        classes!.forEach((count, k) => {
          const j = k * columns + i
          all = chan(seen, count, [all.mean, theta![j]!], [all.variance, variance![j]!])
          seen += count
        })
        largest = Math.max(largest, all.variance)
      }
      epsilon![0] = Number(options.var_smoothing) * largest
      update(variance, (value, _i) => value + epsilon![0]!)
      if (options.priors != null) return
      const all = sum(classes!)
      fill(prior, classes, (count, _k) => count / all)
    },
  },
  multinomial_nb: discrete((row, alpha) => {
    const all = Math.log(sum(row) + alpha * row.length)
    return row.map((count) => Math.log(count + alpha) - all)
  }),
  bernoulli_nb: discrete((row, alpha, { class_count_: classes }, k) => {
    const all = Math.log(classes![k]! + 2 * alpha)
    return row.map((count) => Math.log(count + alpha) - all)
  }),
  complement_nb: discrete((row, alpha, { feature_all_: features }, _, isNormed) => {
    const complement = row.map((count, i) => features![i]! + alpha - count)
    const all = sum(complement)
    const logs = complement.map((count) => -Math.log(count / all))
    const norm = isNormed ? sum(logs) : 1
    return logs.map((value) => value / norm)
  }),
}

/** Returns the indices of statistics tensors, which strategies must not combine. */
const tensorsOf = ({ template }: RoundFiles): ReadonlySet<number> => {
  const names = new Set((template.statistics ?? []).flatMap(({ tensors }) => Object.values(tensors)))
  return new Set([...template.tensors.keys()].filter((index) => names.has(template.tensors[index]!.name)))
}

/** Throws conflict unless the round's strategy is a plain mean without privacy; others cannot merge statistics. */
const requireMergeable = ({ privacy, strategy }: AggregationJob, { name }: Statistic): void => {
  if (privacy === null && rulesOf(strategy.name)?.mergesStatistics) return
  throw conflict(
    `The model contains data statistics ('${name}'), which are merged by their counts. Strategy ` +
      `'${strategy.name}'${privacy === null ? '' : ' with privacy'} cannot do that: use fedavg, fedprox, or ditto without privacy, ` +
      'or train a model without them.',
  )
}

/** Returns the indices of the statistics tensors and a function that merges them. Throws conflict. */
export const statisticsIn = (job: AggregationJob, files: RoundFiles, [first]: readonly Statistic[]) => {
  requireMergeable(job, first!)
  return { tensors: tensorsOf(files), merge: () => mergeStatistics(files, job.updates.length) }
}

/** Merges the statistics of all updates in order and writes the result. Holds two updates' statistics in memory. */
const mergeStatistics = (files: RoundFiles, rows: number): void => {
  const { template, updates, output } = files
  const numberOf = new Map(template.tensors.map(({ name }, index) => [name, index]))
  for (const { name, kind, tensors, options } of template.statistics ?? []) {
    const numbers = Object.entries(tensors).map(([attribute, name]) => [attribute, numberOf.get(name)!] as const)
    const read = (row: number): Values =>
      Object.fromEntries(
        numbers.map(([attribute, index]) => {
          const { dtype, shape } = template.tensors[index]!
          const bytes = new Uint8Array(elementCount(shape) * BYTES_OF[dtype])
          updates.read(row, index, 0, bytes)
          return [attribute, Float64Array.from(decodeElements(bytes, dtype))]
        }),
      )
    const total = read(0)
    for (let row = 1; row < rows; row++) RULES[kind].merge(total, read(row))
    RULES[kind].finish(total, options)
    for (const [attribute, index] of numbers) {
      const { dtype } = template.tensors[index]!
      const bytes = encodeElements(total[attribute]!, dtype)
      if (!decodeElements(bytes, dtype).every(Number.isFinite))
        throw conflict(
          `The statistics '${name}' of the updates merge to NaN or infinity in ${attribute}: their numbers are too large, or ` +
            'their counts are wrong.',
        )
      output.write(index, 0, bytes)
    }
  }
}
