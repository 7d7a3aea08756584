import { meanOf } from './clipped-mean.ts'
import { isFloat, padded } from './kernel.ts'
import { finishFloats } from './sample-mean.ts'
import type { StrategyFactory } from './strategy.ts'

/** 128 KiB of float32 per row and 256 KiB of sums, which together fit the L2 cache. */
const COLUMNS = 32_768

/**
 * Federated averaging: w = sum(n_k * w_k) / sum(n_k) (McMahan et al. 2017, "Communication-Efficient Learning of Deep
 * Networks from Decentralized Data", algorithm 1). With privacy, updates are clipped and have equal weight, and the mean
 * change gets noise (McMahan et al. 2018, "Learning Differentially Private Recurrent Language Models").
 */
export const fedavg: StrategyFactory = (kernel, round) => {
  const row = kernel.allocate(padded(COLUMNS) * 8)
  const mean = meanOf(kernel, round, COLUMNS, row)
  return {
    columns: COLUMNS,
    needs: mean.needs,
    surveys: mean.surveys,
    combine: (chunk) => {
      if (!isFloat(chunk.dtype)) return mean.integers(chunk)
      mean.sum(chunk)
      return finishFloats(kernel, chunk, mean.sums, mean.total, row)
    },
    weights: mean.weights,
    ...(mean.privacy && { privacy: mean.privacy }),
  }
}
