import { isFloat, padded } from './kernel.ts'
import { equalMean, finishFloats } from './sample-mean.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

const COLUMNS = 16_384

/**
 * Buffered asynchronous aggregation: w += (eta / K) sum s(tau_k) (w_k - base_k), where base_k is the model that device k
 * started from, tau_k the number of models since then, s = (1 + tau)^-a (Nguyen et al. 2022, "Federated Learning with
 * Buffered Asynchronous Aggregation", algorithm 1), and K the number of updates in the buffer. Integer tensors become their
 * plain mean.
 */
export const fedbuff: StrategyFactory = (kernel, { samples, staleness, options }) => {
  const eta = numberOption(options, 'server_learning_rate')
  const exponent = numberOption(options, 'staleness_exponent')
  const rows = samples.length
  const scales = staleness.map((rounds) => (1 + rounds) ** -exponent)
  const total = scales.reduce((sum, scale) => sum + scale, 0)
  const bytes = padded(COLUMNS) * 8
  const row = kernel.allocate(bytes)
  const mean = equalMean(kernel, rows, COLUMNS, row)
  const global = kernel.allocate(bytes)
  const base = kernel.allocate(bytes)
  const update = kernel.allocate(bytes)
  const moved = kernel.allocate(bytes)
  return {
    columns: COLUMNS,
    needs: { global: true, bases: true },
    combine: (chunk) => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) return mean.integers(chunk)
      kernel.bytes(moved, bytes).fill(0)
      for (let k = 0; k < rows; k++) {
        chunk.loadBase(k, row)
        kernel.decode(dtype, row, base, length)
        chunk.load(k, row)
        kernel.decode(dtype, row, update, length)
        kernel.addDelta(update, base, moved, length, scales[k]!)
      }
      chunk.loadGlobal(row)
      kernel.decode(dtype, row, global, length)
      const [w, sum] = [kernel.doubles(global, length), kernel.doubles(moved, length)]
      for (let i = 0; i < length; i++) w[i]! += (eta * sum[i]!) / rows
      return finishFloats(kernel, chunk, global, 1, row)
    },
    weights: () => scales.map((scale) => scale / total),
  }
}
