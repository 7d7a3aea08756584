// Estimators that are a curve over each column: power and quantile transformations, bins, isotonic regression.
import { floatAtMost } from '../onnx/tree-ensemble.ts'
import type { Estimator } from './estimator.ts'
import { type Converter, tableResult, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** Limits that a column reaches: of float32 numbers the next ones above, which are the same limits in float32. */
const limitsOf = (graph: TableGraph, x: Table, values: readonly number[]): readonly number[] =>
  graph.typeOf(x) === 'f32' ? values.map((value) => -floatAtMost(-value)) : values

/**
 * The piecewise linear curve through points, [batch, 1] to [batch, 1], which is constant outside (numpy.interp). Each
 * piece begins at its limit, the point's x.
 */
const interpolated = (
  graph: TableGraph,
  x: string,
  xs: readonly number[],
  ys: readonly number[],
  limits: readonly number[] = xs,
): string => {
  const slopes = xs.map((from, at) => {
    const slope = (ys[at + 1]! - ys[at]!) / (xs[at + 1]! - from)
    return Number.isFinite(slope) ? slope : 0
  })
  const inside = graph.clipped(x, xs[0]!, xs.at(-1)!)
  // The first piece also has what is below all points.
  const begun = graph.node('GreaterOrEqual', [
    x,
    graph.vector([Number.NEGATIVE_INFINITY, ...limits.slice(1)], 'points'),
  ])
  const index = graph.cast(graph.subtract(graph.sum(graph.indicator(begun), 1), graph.scalar(1)), 'i64')
  const at = (values: readonly number[]) => graph.node('Gather', [graph.vector(values, 'curve'), index])
  return graph.add(at(ys), graph.multiply(at(slopes), graph.subtract(inside, at(xs))))
}

const negated = (values: readonly number[]): number[] => values.map((value) => -value).reverse()

/** Each column's part of a result, next to each other. */
const columnByColumn = (x: Table, graph: TableGraph, curve: (column: string, at: number) => string): string =>
  graph.concat(Array.from({ length: x.columns }, (_, at) => curve(graph.as(graph.select(x, [at]), 'f64'), at)))

/** Rational approximations of the normal quantile, to 1e-9: P. J. Acklam (2003). The last coefficient is of degree 0. */
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

const normalQuantile = (graph: TableGraph, p: string): string => {
  const apart = graph.subtract(p, graph.scalar(0.5))
  const center = graph.multiply(apart, rational(graph, graph.multiply(apart, apart), CENTER))
  // 1 - p where p is above the middle, whose quantile has the other sign.
  const lower = graph.node('Min', [p, graph.subtract(graph.scalar(1), p)])
  const root = graph.node('Sqrt', [graph.multiply(graph.node('Log', [lower]), graph.scalar(-2))])
  const below = rational(graph, root, TAIL)
  const tail = graph.node('Where', [graph.node('Less', [apart, graph.scalar(0)]), below, graph.node('Neg', [below])])
  return graph.node('Where', [graph.node('Less', [lower, graph.scalar(TAIL_FROM)]), tail, center])
}

/** Source: QuantileTransformer._transform_col; the clipped tails are those of its BOUNDS_THRESHOLD. */
const NORMAL_BOUND = 5.199337582605575
const MIN_SHARE = 1e-7

export const quantileTransformer: Converter = (estimator, x, graph) => {
  const references = Array.from(estimator.numbers('references_').data)
  const { data } = estimator.matrix('quantiles_', x.columns)
  if (data.length !== references.length * x.columns) estimator.refuse('quantiles_ do not fit references_.')
  const isNormal = estimator.text('output_distribution') === 'normal'
  const margin = isNormal ? MIN_SHARE : 0
  const name = columnByColumn(x, graph, (column, at) => {
    const quantiles = references.map((_, row) => data[row * x.columns + at]!)
    const up = interpolated(graph, column, quantiles, references, limitsOf(graph, x, quantiles))
    const mirrored = negated(quantiles)
    const below = limitsOf(graph, x, mirrored)
    const down = interpolated(graph, graph.node('Neg', [column]), mirrored, negated(references), below)
    const middle = graph.multiply(graph.subtract(up, down), graph.scalar(0.5))
    const isHigh = graph.node('GreaterOrEqual', [
      column,
      graph.scalar(limitsOf(graph, x, [quantiles.at(-1)! - margin])[0]!),
    ])
    const isLow = graph.node('LessOrEqual', [column, graph.scalar(-limitsOf(graph, x, [-quantiles[0]! - margin])[0]!)])
    const bounded = graph.node('Where', [isHigh, graph.scalar(1), middle])
    return graph.node('Where', [isLow, graph.scalar(0), bounded])
  })
  if (!isNormal) return tableResult(graph, name, x.columns)
  const inside = graph.clipped(name, MIN_SHARE / 10, 1 - MIN_SHARE / 10)
  return tableResult(graph, graph.clipped(normalQuantile(graph, inside), -NORMAL_BOUND, NORMAL_BOUND), x.columns)
}

/** ((1 + x)^λ - 1) / λ of log(1 + x), for a λ of each column; log(1 + x) where λ is 0. */
const power = (graph: TableGraph, logarithm: string, lambdas: readonly number[]): string => {
  const flat = lambdas.map((lambda) => Number(Math.abs(lambda) < 2 ** -52))
  const divisor = graph.vector(lambdas.map((lambda, at) => (flat[at] === 1 ? 1 : lambda)))
  const grown = graph.node('Exp', [graph.multiply(logarithm, graph.vector(lambdas))])
  const curve = graph.divide(graph.subtract(grown, graph.scalar(1)), divisor)
  const isFlat = graph.node('Equal', [graph.vector(flat), graph.scalar(1)])
  return graph.node('Where', [isFlat, logarithm, curve])
}

/** Source: PowerTransformer.transform, by Yeo and Johnson (2000), or Box and Cox (1964). */
export const powerTransformer: Converter = (estimator, x, graph, convert) => {
  const lambdas = estimator.vector('lambdas_', x.columns)
  const input = graph.as(x, 'f64')
  const logarithm = (value: string) => graph.node('Log', [value])
  const above = (value: string) => logarithm(graph.add(graph.node('Relu', [value]), graph.scalar(1)))
  const name =
    estimator.text('method') === 'box-cox'
      ? power(graph, logarithm(input), lambdas)
      : graph.subtract(
          power(graph, above(input), lambdas),
          power(
            graph,
            above(graph.node('Neg', [input])),
            lambdas.map((lambda) => 2 - lambda),
          ),
        )
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
    // A column of a single bin has no edges inside.
    const inner = edges[at]!.length > 0 ? edges[at]! : [Number.POSITIVE_INFINITY]
    const above = graph.node('GreaterOrEqual', [column, graph.vector(limitsOf(graph, x, inner), 'edges')])
    const bin = graph.sum(graph.indicator(above), 1)
    const bins = graph.vector(Array.from({ length: edges[at]!.length + 1 }, (_, own) => own))
    return isOneHot ? graph.indicator(graph.node('Equal', [bin, bins])) : bin
  })
  const columns = edges.reduce((sum, own) => sum + (isOneHot ? own.length + 1 : 1), 0)
  return tableResult(graph, name, columns)
}

/** The curve of an isotonic regression. Source: IsotonicRegression.transform. */
export const isotonic = (estimator: Estimator, x: string, graph: TableGraph): string => {
  const xs = Array.from(estimator.numbers('X_thresholds_').data)
  const ys = estimator.vector('y_thresholds_', xs.length)
  const curve = interpolated(graph, x, xs, ys)
  if (estimator.text('out_of_bounds', 'nan') === 'clip') return curve
  const isInside = graph.node('Equal', [graph.clipped(x, xs[0]!, xs.at(-1)!), x])
  return graph.node('Where', [isInside, curve, graph.scalar(Number.NaN)])
}

export const isotonicRegression: Converter = (estimator, x, graph) =>
  valuesResult(isotonic(estimator, graph.as(x, 'f64'), graph), 1)
