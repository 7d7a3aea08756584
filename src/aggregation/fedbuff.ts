import { isFloat, padded } from './kernel.ts'
import { finishFloats, sampleMean } from './sample-mean.ts'
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
  const integers = sampleMean(
    kernel,
    samples.map(() => 1),
    COLUMNS,
    row,
  )
  const [global, base, update, moved] = [0, 0, 0, 0].map(() => kernel.allocate(bytes)) as [
    number,
    number,
    number,
    number,
  ]
  return {
    columns: COLUMNS,
    needs: { global: true, bases: true },
    combine: (chunk) => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) return integers.integers(chunk)
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
      const view = (address: number): Float64Array => new Float64Array(kernel.bytes(address, 0).buffer, address, length)
      const [w, sum] = [view(global), view(moved)]
      for (let i = 0; i < length; i++) w[i]! += (eta * sum[i]!) / rows
      return finishFloats(kernel, chunk, global, 1, row)
    },
    weights: () => scales.map((scale) => scale / total),
  }
}
