import { type Optimizer, optimizedBy } from './server-optimizer.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

interface Rates {
  readonly eta: number
  readonly beta1: number
  readonly beta2: number
  readonly tau: number
}

/** m = beta m + D; w += eta m (Hsu et al. 2019, "Measuring the Effects of Non-Identical Data Distribution", FedAvgM). */
const momentum = ({ eta, beta1 }: Rates): Optimizer => ({
  initial: [0],
  step: (weights, change, [m]) => {
    for (let i = 0; i < weights.length; i++) {
      m![i] = beta1 * m![i]! + change[i]!
      weights[i]! += eta * m![i]!
    }
  },
})

/** How v follows the squared change; v starts at tau squared. */
type SecondMoment = (v: number, square: number) => number

/** m = b1 m + (1 - b1) D; v by `follow`; w += eta m / (sqrt(v) + tau) (Reddi et al. 2021, algorithm 2). */
const adaptive = ({ eta, beta1, tau }: Rates, follow: SecondMoment): Optimizer => ({
  initial: [0, tau * tau],
  step: (weights, change, [m, v]) => {
    for (let i = 0; i < weights.length; i++) {
      const d = change[i]!
      m![i] = beta1 * m![i]! + (1 - beta1) * d
      v![i] = follow(v![i]!, d * d)
      weights[i]! += (eta * m![i]!) / (Math.sqrt(v![i]!) + tau)
    }
  },
})

const adagrad = (rates: Rates): Optimizer => adaptive(rates, (v, square) => v + square)

const yogi = (rates: Rates): Optimizer =>
  adaptive(rates, (v, square) => v - (1 - rates.beta2) * square * Math.sign(v - square))

const adam = (rates: Rates): Optimizer => adaptive(rates, (v, square) => rates.beta2 * v + (1 - rates.beta2) * square)

const VARIANTS: Readonly<Record<string, (rates: Rates) => Optimizer>> = { momentum, adagrad, yogi, adam }

const ratesOf = (options: Parameters<typeof numberOption>[0]): Rates => ({
  eta: numberOption(options, 'server_learning_rate'),
  beta1: numberOption(options, 'beta1'),
  beta2: numberOption(options, 'beta2'),
  tau: numberOption(options, 'tau'),
})

/** The optimizer that the option `variant` names drives the server: momentum, adagrad, yogi or adam. */
export const fedopt: StrategyFactory = (kernel, round) =>
  optimizedBy(kernel, round, VARIANTS[String(round.options.variant)]!(ratesOf(round.options)))

/**
 * Flower's form: v starts at 0, and the step is corrected for both moments' start as in Adam (Kingma and Ba 2015), with
 * the round's number, counted from 1, plus one as the exponent.
 */
const flowerAdam = ({ eta, beta1, beta2, tau }: Rates, roundsBefore: number): Optimizer => {
  const exponent = roundsBefore + 2
  const step = (eta * Math.sqrt(1 - beta2 ** exponent)) / (1 - beta1 ** exponent)
  return { ...adam({ eta: step, beta1, beta2, tau }), initial: [0, 0] }
}

/**
 * Adam on the server (Reddi et al. 2021, algorithm 2, FedAdam): v starts at tau squared and nothing is corrected; with
 * the option `form` set to `flower`, what Flower's strategy of this name does.
 */
export const fedadam: StrategyFactory = (kernel, round) => {
  const rates = ratesOf(round.options)
  return optimizedBy(
    kernel,
    round,
    round.options.form === 'flower' ? flowerAdam(rates, round.roundsBefore) : adam(rates),
  )
}
