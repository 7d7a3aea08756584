import { meanOf } from './clipped-mean.ts'
import { isFloat, type Kernel, padded } from './kernel.ts'
import { nonFiniteStateError } from './non-finite.ts'
import { finishFloats } from './sample-mean.ts'
import type { Round, Strategy } from './strategy.ts'

const COLUMNS = 16_384

/** One step of an optimizer: moves `weights` along the mean change `change` and updates its state vectors, all in place. */
export interface Optimizer {
  /** The initial element value of each state vector. */
  readonly initial: readonly number[]
  step(weights: Float64Array, change: Float64Array, vectors: readonly Float64Array[]): void
}

/**
 * Uses a round's mean change as the gradient of a server optimizer (Reddi et al. 2021, "Adaptive Federated Optimization",
 * algorithm 1). Everything runs in f64, and the optimizer's vectors stay f64 between rounds. Integer tensors become the
 * plain weighted mean, or keep the global values in a private round.
 */
export const optimizedBy = (kernel: Kernel, round: Round, optimizer: Optimizer): Strategy => {
  const bytes = padded(COLUMNS) * 8
  const row = kernel.allocate(bytes)
  const mean = meanOf(kernel, round, COLUMNS, row)
  const weights = kernel.allocate(bytes)
  const vectors = optimizer.initial.map(() => kernel.allocate(bytes))
  return {
    columns: COLUMNS,
    needs: { global: true },
    state: optimizer.initial,
    surveys: mean.surveys,
    combine: (chunk) => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) return mean.integers(chunk)
      if (round.hasMeanChange) chunk.loadMeanChange(mean.sums)
      else mean.sum(chunk)
      chunk.loadGlobal(row)
      kernel.decode(dtype, row, weights, length)
      for (const [v, address] of vectors.entries()) chunk.loadState(v, address)
      const view = (address: number): Float64Array => kernel.doubles(address, length)
      const [w, change] = [view(weights), view(mean.sums)]
      if (!round.hasMeanChange) for (let i = 0; i < length; i++) change[i] = change[i]! / mean.total - w[i]!
      optimizer.step(w, change, vectors.map(view))
      const result = finishFloats(kernel, chunk, weights, 1, row)
      for (const [v, address] of vectors.entries()) {
        // An infinite second moment would freeze its weight for the rest of the job while the weights remain finite.
        if (kernel.firstNonFinite('f64', address, length) !== -1) throw nonFiniteStateError(kernel, chunk, v, row)
        chunk.saveState(v, address)
      }
      return result
    },
    weights: mean.weights,
    ...(mean.privacy && { privacy: mean.privacy }),
  }
}
