import { isFloat, padded } from './kernel.ts'
import { nonFiniteError } from './non-finite.ts'
import { equalMean, finishFloats } from './sample-mean.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

const COLUMNS = 16_384

/**
 * SCAFFOLD's server: x += eta_g mean(y_i - x); c += (|S| / N) mean(c_i+ - c_i) (Karimireddy et al. 2020, "SCAFFOLD:
 * Stochastic Controlled Averaging for Federated Learning", algorithm 1). All devices have equal weight. The global control
 * variate c is the strategy's state, in f64; devices get it rounded to the model's types. Integer tensors become their plain
 * mean and have control zero.
 */
export const scaffold: StrategyFactory = (kernel, { samples, options, population }) => {
  const eta = numberOption(options, 'server_learning_rate')
  const rows = samples.length
  const bytes = padded(COLUMNS) * 8
  const row = kernel.allocate(bytes)
  const mean = equalMean(kernel, rows, COLUMNS, row)
  const global = kernel.allocate(bytes)
  const change = kernel.allocate(bytes)
  const control = kernel.allocate(bytes)
  return {
    columns: COLUMNS,
    needs: { global: true, controls: true },
    state: [0],
    combine: (chunk) => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) {
        kernel.bytes(row, bytes).fill(0)
        chunk.saveControl(row)
        return mean.integers(chunk)
      }
      const view = (address: number): Float64Array => kernel.doubles(address, length)
      kernel.bytes(change, bytes).fill(0)
      for (let k = 0; k < rows; k++) {
        chunk.loadControl(k, row)
        kernel.add(dtype, row, change, length, 1)
      }
      chunk.loadState(0, control)
      const [c, dc] = [view(control), view(change)]
      // (|S| / N) times the mean over S is the sum over N.
      for (let i = 0; i < length; i++) c[i]! += dc[i]! / population
      chunk.saveState(0, control)
      if (!kernel.finish(dtype, control, 1, row, length))
        throw nonFiniteError(
          kernel,
          { ...chunk, load: chunk.loadControl, nameOf: (k) => `control of the ${chunk.nameOf(k)}` },
          row,
        )
      chunk.saveControl(row)

      mean.sum(chunk)
      chunk.loadGlobal(row)
      kernel.decode(dtype, row, global, length)
      const [x, sums] = [view(global), view(mean.sums)]
      for (let i = 0; i < length; i++) x[i]! += eta * (sums[i]! / rows - x[i]!)
      return finishFloats(kernel, chunk, global, 1, row)
    },
    weights: mean.weights,
  }
}
