// Estimators that apply a curve to each column: power and quantile transformations, bins, isotonic regression.
import { floatAtMost } from '../onnx/tree-ensemble.ts'
import type { Estimator } from './estimator.ts'
import { type Converter, tableResult, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** Limits for comparisons. For float32 columns, rounded up to float32, which does not change the result. */
const limitsOf = (graph: TableGraph, x: Table, values: readonly number[]): readonly number[] =>
  graph.typeOf(x) === 'f32' ? values.map((value) => -floatAtMost(-value)) : values

interface Curves {
  /** The curve through points with these y; each piece is computed from its start or from its end. */
  readonly fromStart: (ys: readonly number[]) => string
  readonly fromEnd: (ys: readonly number[]) => string
}

/**
 * Piecewise linear curves through points of these x, [batch, 1] to [batch, 1], which are constant outside (numpy.interp).
 * A piece begins at its limit, the point's x. Float32 keeps the digits of a result that is small at the end of a piece where it
 * is computed from, also far from the origin: each x is the sum of two numbers.
 */
const interpolation = (graph: TableGraph, x: string, xs: readonly number[], limits: readonly number[] = xs): Curves => {
  // The first piece also has what is below all points; the last one is constant.
  const points = graph.vector([Number.NEGATIVE_INFINITY, ...limits.slice(1)], 'points')
  const begun = graph.emit('GreaterOrEqual', [x, points])
  const index = graph.castTo(graph.subtract(graph.sum(graph.indicator(begun), 1), graph.scalar(1)), 'i64')
  const at = (values: readonly number[]) => graph.emit('Gather', [graph.vector(values, 'curve'), index])
  const ends = (values: readonly number[]) => values.map((value, place) => values[place + 1] ?? value)
  const widths = at(ends(xs).map((end, place) => end - xs[place]!))
  const inside = (distance: string) => graph.emit('Min', [graph.emit('Max', [distance, graph.scalar(0)]), widths])
  const beyond = (points: readonly number[]): string => {
    const rest = points.map((point) => point - Math.fround(point))
    return graph.subtract(graph.subtract(x, at(points.map(Math.fround))), at(rest))
  }
  const slopesOf = (ys: readonly number[]): string =>
    at(
      xs.map((from, place) => {
        const slope = (ys[place + 1]! - ys[place]!) / (xs[place + 1]! - from)
        return Number.isFinite(slope) ? slope : 0
      }),
    )
  return {
    fromStart: (ys) => graph.add(at(ys), graph.multiply(slopesOf(ys), inside(beyond(xs)))),
    fromEnd: (ys) => {
      const before = inside(graph.emit('Neg', [beyond(ends(xs))]))
      return graph.subtract(at(ends(ys)), graph.multiply(slopesOf(ys), before))
    },
  }
}

const negated = (values: readonly number[]): number[] => values.map((value) => -value).reverse()

/** Applies a curve to each column and concatenates the results. */
const columnByColumn = (x: Table, graph: TableGraph, curve: (column: string, at: number) => string): string =>
  graph.concat(Array.from({ length: x.columns }, (_, at) => curve(graph.as(graph.select(x, [at]), 'f64'), at)))

/** Rational approximations of the normal quantile, accurate to 1e-9: P. J. Acklam (2003). The last coefficient has degree 0. */
const CENTER = [
  [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239],
  [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1],
] as const
const TAIL = [
  [
    -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
    2.938163982698783,
  ],
  [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1],
] as const
const TAIL_FROM = 0.02425

const rational = (graph: TableGraph, x: string, [above, below]: readonly [readonly number[], readonly number[]]) => {
  const polynomial = ([first, ...rest]: readonly number[]) =>
    rest.reduce((sum, own) => graph.add(graph.multiply(sum, x), graph.scalar(own)), graph.scalar(first!))
  return graph.divide(polynomial(above), polynomial(below))
}

/** Source: QuantileTransformer._transform_col; the tails are clipped by its BOUNDS_THRESHOLD. */
const NORMAL_BOUND = 5.199337582605575
const MIN_SHARE = 1e-7

/** The normal quantile of p. Also takes the complement 1 - p, because float32 is not precise enough near 1. */
const normalQuantile = (graph: TableGraph, p: string, complement: string): string => {
  const apart = graph.multiply(graph.subtract(p, complement), graph.scalar(0.5))
  const center = graph.multiply(apart, rational(graph, graph.multiply(apart, apart), CENTER))
  // Uses the smaller of both; the quantile of the other has the opposite sign.
  const lower = graph.emit('Max', [graph.emit('Min', [p, complement]), graph.scalar(MIN_SHARE / 10)])
  const root = graph.emit('Sqrt', [graph.multiply(graph.emit('Log', [lower]), graph.scalar(-2))])
  const below = rational(graph, root, TAIL)
  const tail = graph.emit('Where', [graph.emit('Less', [apart, graph.scalar(0)]), below, graph.emit('Neg', [below])])
  const quantile = graph.emit('Where', [graph.emit('Less', [lower, graph.scalar(TAIL_FROM)]), tail, center])
  return graph.clipped(quantile, -NORMAL_BOUND, NORMAL_BOUND)
}

export const quantileTransformer: Converter = (estimator, x, graph) => {
  const references = Array.from(estimator.numbers('references_').data)
  const { data } = estimator.matrix('quantiles_', x.columns)
  if (data.length !== references.length * x.columns) estimator.refuse('quantiles_ do not fit references_.')
  const isNormal = estimator.text('output_distribution') === 'normal'
  const margin = isNormal ? MIN_SHARE : 0
  const name = columnByColumn(x, graph, (column, at) => {
    const quantiles = references.map((_, row) => data[row * x.columns + at]!)
    const up = interpolation(graph, column, quantiles, limitsOf(graph, x, quantiles))
    const mirrored = negated(quantiles)
    const down = interpolation(graph, graph.emit('Neg', [column]), mirrored, limitsOf(graph, x, mirrored))
    const limit = (value: number) => limitsOf(graph, x, [value])[0]!
    const isHigh = graph.emit('GreaterOrEqual', [column, graph.scalar(limit(quantiles.at(-1)! - margin))])
    const isLow = graph.emit('LessOrEqual', [column, graph.scalar(-limit(-quantiles[0]! - margin))])
    const shareOf = (ys: readonly number[], low: number, high: number): string => {
      const mirroredYs = [...ys].reverse()
      const curves =
        low < high ? [up.fromStart(ys), down.fromEnd(mirroredYs)] : [up.fromEnd(ys), down.fromStart(mirroredYs)]
      const middle = graph.multiply(graph.add(curves[0]!, curves[1]!), graph.scalar(0.5))
      const bounded = graph.emit('Where', [isHigh, graph.scalar(high), middle])
      return graph.emit('Where', [isLow, graph.scalar(low), bounded])
    }
    const share = shareOf(references, 0, 1)
    if (!isNormal) return share
    const complements = references.map((reference) => 1 - reference)
    return normalQuantile(graph, share, shareOf(complements, 1, 0))
  })
  return tableResult(graph, name, x.columns)
}

/** ((1 + x)^λ - 1) / λ from log(1 + x), with one λ per column; log(1 + x) if λ is 0. */
const power = (graph: TableGraph, logarithm: string, lambdas: readonly number[]): string => {
  const flat = lambdas.map((lambda) => Number(Math.abs(lambda) < 2 ** -52))
  const divisor = graph.vector(lambdas.map((lambda, at) => (flat[at] === 1 ? 1 : lambda)))
  const grown = graph.emit('Exp', [graph.multiply(logarithm, graph.vector(lambdas))])
  const curve = graph.divide(graph.subtract(grown, graph.scalar(1)), divisor)
  const isFlat = graph.emit('Equal', [graph.vector(flat), graph.scalar(1)])
  return graph.emit('Where', [isFlat, logarithm, curve])
}

/** Source: PowerTransformer.transform, by Yeo and Johnson (2000) or Box and Cox (1964). */
export const powerTransformer: Converter = (estimator, x, graph, convert) => {
  const lambdas = estimator.vector('lambdas_', x.columns)
  const input = graph.as(x, 'f64')
  const logarithm = (value: string) => graph.emit('Log', [value])
  const above = (value: string) => logarithm(graph.add(graph.emit('Relu', [value]), graph.scalar(1)))
  const yeoJohnson = (): string => {
    const positive = power(graph, above(input), lambdas)
    const mirrored = lambdas.map((lambda) => 2 - lambda)
    return graph.subtract(positive, power(graph, above(graph.emit('Neg', [input])), mirrored))
  }
  const name = estimator.text('method') === 'box-cox' ? power(graph, logarithm(input), lambdas) : yeoJohnson()
  const table = graph.table(name, 'f64', x.columns)
  if (!estimator.flag('standardize')) return { kind: 'table', table }
  return convert(estimator.estimator('_scaler'), table, graph, convert)
}

/** Source: KBinsDiscretizer.transform. */
export const binsDiscretizer: Converter = (estimator, x, graph) => {
  const edges = estimator
    .list('bin_edges_')
    .map((own) => Array.from(estimator.asNumbers(own, 'bin_edges_').data).slice(1, -1))
  if (edges.length !== x.columns) estimator.refuse(`it has bins for ${edges.length} columns, but gets ${x.columns}.`)
  const isOneHot = estimator.text('encode') !== 'ordinal'
  const name = columnByColumn(x, graph, (column, at) => {
    // A column with a single bin has no inner edges.
    const inner = edges[at]!.length > 0 ? edges[at]! : [Number.POSITIVE_INFINITY]
    const above = graph.emit('GreaterOrEqual', [column, graph.vector(limitsOf(graph, x, inner), 'edges')])
    const bin = graph.sum(graph.indicator(above), 1)
    const bins = graph.vector(Array.from({ length: edges[at]!.length + 1 }, (_, own) => own))
    return isOneHot ? graph.indicator(graph.emit('Equal', [bin, bins])) : bin
  })
  const columns = edges.reduce((sum, own) => sum + (isOneHot ? own.length + 1 : 1), 0)
  return tableResult(graph, name, columns)
}

/** The curve of an isotonic regression. Source: IsotonicRegression.transform. */
export const isotonic = (estimator: Estimator, x: string, graph: TableGraph): string => {
  const xs = Array.from(estimator.numbers('X_thresholds_').data)
  const ys = estimator.vector('y_thresholds_', xs.length)
  const curve = interpolation(graph, x, xs).fromStart(ys)
  if (estimator.text('out_of_bounds', 'nan') === 'clip') return curve
  const isInside = graph.emit('Equal', [graph.clipped(x, xs[0]!, xs.at(-1)!), x])
  return graph.emit('Where', [isInside, curve, graph.scalar(Number.NaN)])
}

export const isotonicRegression: Converter = (estimator, x, graph) =>
  valuesResult(isotonic(estimator, graph.as(x, 'f64'), graph), 1)
