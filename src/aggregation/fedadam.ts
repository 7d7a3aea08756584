import { adam, type Rates, ratesOf } from './fedopt.ts'
import { type Optimizer, optimizedBy } from './server-optimizer.ts'
import type { StrategyFactory } from './strategy.ts'

/**
 * Flower's variant: v starts at 0, and the step is bias-corrected as in Adam (Kingma and Ba 2015), with the round number,
 * counted from 1, plus one as the exponent.
 */
const flowerAdam = ({ eta, beta1, beta2, tau }: Rates, roundsBefore: number): Optimizer => {
  const exponent = roundsBefore + 2
  const step = (eta * Math.sqrt(1 - beta2 ** exponent)) / (1 - beta1 ** exponent)
  return { ...adam({ eta: step, beta1, beta2, tau }), initial: [0, 0] }
}

/**
 * Adam on the server (Reddi et al. 2021, algorithm 2, FedAdam): v starts at tau squared, without bias correction. With the
 * option `form` set to `flower`, it does the same as Flower's strategy of this name.
 */
export const fedadam: StrategyFactory = (kernel, round) => {
  const rates = ratesOf(round.options)
  return optimizedBy(
    kernel,
    round,
    round.options.form === 'flower' ? flowerAdam(rates, round.roundsBefore) : adam(rates),
  )
}
