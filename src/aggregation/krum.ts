import { conflict } from '../domain/errors.ts'
import { isFloat, type Kernel, padded } from './kernel.ts'
import { firstNonFinite } from './non-finite.ts'
import { columnsFor, loadRows } from './rank-mean.ts'
import { equalMean, finishFloats, type Mean } from './sample-mean.ts'
import { type Chunk, numberOption, type Round, type Strategy, type StrategyFactory } from './strategy.ts'

const MAX_COLUMNS = 16_384
/** The distances of all pairs take 8 n^2 bytes: at most 128 MB. */
const MAX_ROWS = 4096

/**
 * Krum: uses the update with the smallest sum of squared distances to its n - f - 2 nearest others, over all float tensors;
 * ties go to the smaller device ID (Blanchard et al. 2017, "Machine Learning with Adversaries: Byzantine Tolerant Gradient
 * Descent", section 4). With `keep` m > 1, it is Multi-Krum. Throws conflict if n < 2f + 3.
 */
export const krum: StrategyFactory = (kernel, round) => {
  const keep = numberOption(round.options, 'keep')
  return nearestUpdates(kernel, round, () => keep)
}

/**
 * Multi-Krum: the plain mean of the `keep` updates with the best scores (Blanchard et al. 2017, section 4.2), or of n - f if
 * `keep` is 0. Never more than n - f, because the others may be Byzantine.
 */
export const multikrum: StrategyFactory = (kernel, round) => {
  const keep = numberOption(round.options, 'keep')
  return nearestUpdates(kernel, round, (honest) => keep || honest)
}

/** Returns Krum's scores: for each row, the sum of its `neighbors` smallest distances. */
export const krumScores = (
  rows: number,
  neighbors: number,
  between: (a: number, b: number) => number,
): readonly number[] =>
  Array.from({ length: rows }, (_, a) =>
    Array.from({ length: rows }, (_, b) => b)
      .filter((b) => b !== a)
      .map((b) => between(a, b))
      .sort((x, y) => (x < y ? -1 : x > y ? 1 : 0))
      .slice(0, neighbors)
      .reduce((sum, distance) => sum + distance, 0),
  )

/** The relative error of a distance summed by `add` in f32: 64 squares in each of four lanes, each difference rounded. */
const RELATIVE_ERROR = 70 * 2 ** -24
/** The maximum loss for a square below the smallest normal f32. */
const SQUARE_ERROR = 2 ** -149

/** Squared distances of all pairs of updates over all float tensors, chunk by chunk. */
const pairDistances = (kernel: Kernel, rows: number, columns: number) => {
  const base = kernel.allocate(rows * columns * 8)
  const scratch = kernel.allocate(columns * 8)
  const sums = kernel.allocate(rows * rows * 8)
  const view = (): Float64Array => kernel.doubles(sums, rows * rows)
  let elements = 0

  return {
    /** Adds a chunk, in fast f32 within blocks or in f64. Throws conflict naming a row that is not finite. */
    add: (chunk: Chunk, exactly: boolean): void => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) return
      const lanes = exactly || dtype === 'f64' ? 'f64' : 'f32'
      const stride = columns * (lanes === 'f32' ? 4 : 8)
      loadRows(kernel, chunk, lanes, { base, stride, scratch })
      kernel.pairs(lanes, base, stride, rows, length, sums)
      elements += length
      // Finite values that are far apart have an infinite distance too.
      const fault = view().every(Number.isFinite) ? null : firstNonFinite(kernel, chunk, scratch)
      if (fault !== null) throw fault
    },
    /** Resets all distances. */
    clear: (): void => {
      view().fill(0)
      elements = 0
    },
    between: (a: number, b: number): number => view()[Math.min(a, b) * rows + Math.max(a, b)]!,
    /** Bounds the error of a sum of one row's distances that were not added exactly. */
    errorOf: (sum: number): number => sum * RELATIVE_ERROR + rows * elements * SQUARE_ERROR,
  }
}

const nearestUpdates = (kernel: Kernel, round: Round, requested: (honest: number) => number): Strategy => {
  const rows = round.samples.length
  const byzantine = numberOption(round.options, 'byzantine')
  if (rows < 2 * byzantine + 3)
    throw conflict(
      `Krum needs at least 2f + 3 = ${2 * byzantine + 3} updates to withstand f = ${byzantine} Byzantine updates, and this round has ${rows}. ` +
        'Wait for more devices, or lower strategy_options.byzantine.',
    )
  if (rows > MAX_ROWS)
    throw conflict(
      `Krum compares every update with every other, and this round has ${rows}, more than ${MAX_ROWS}. ` +
        'Use fedmedian or fedtrimmedavg, or select fewer devices.',
    )
  const keep = Math.min(requested(rows - byzantine), rows - byzantine)
  const columns = columnsFor(rows, MAX_COLUMNS)
  const distances = pairDistances(kernel, rows, columns)
  const row = kernel.allocate(padded(columns) * 8)
  let chosen: readonly number[] = []
  let mean: Mean | null = null

  /** Selects rows; returns false if scores are closer than the error of the distances. */
  const choose = (exactly: boolean): boolean => {
    const scores = krumScores(rows, rows - byzantine - 2, distances.between)
    const order = scores
      .map((_, k) => k)
      .sort((a, b) => (scores[a]! < scores[b]! ? -1 : scores[a]! > scores[b]! ? 1 : a - b))
    chosen = order.slice(0, keep).sort((a, b) => a - b)
    const [last, next] = [scores[order[keep - 1]!]!, scores[order[keep] ?? -1] ?? Infinity]
    return exactly || last + distances.errorOf(last) < next - distances.errorOf(next)
  }
  const ofChosen = (chunk: Chunk): Chunk => ({
    ...chunk,
    rows: chosen.length,
    load: (k, address) => chunk.load(chosen[k]!, address),
    nameOf: (k) => chunk.nameOf(chosen[k]!),
  })
  return {
    columns,
    *surveys() {
      yield (chunk) => distances.add(chunk, false)
      if (choose(false)) return
      distances.clear()
      yield (chunk) => distances.add(chunk, true)
      choose(true)
    },
    combine: (chunk) => {
      if (chosen.length === 1) {
        chunk.load(chosen[0]!, row)
        return row
      }
      mean ??= equalMean(kernel, chosen.length, columns, row)
      if (!isFloat(chunk.dtype)) return mean.integers(ofChosen(chunk))
      mean.sum(ofChosen(chunk))
      return finishFloats(kernel, ofChosen(chunk), mean.sums, mean.total, row)
    },
    weights: () => Array.from({ length: rows }, (_, k) => (chosen.includes(k) ? 1 / chosen.length : 0)),
  }
}
