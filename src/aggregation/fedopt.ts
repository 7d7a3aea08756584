import { type Optimizer, optimizedBy } from './server-optimizer.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

export interface Rates {
  readonly eta: number
  readonly beta1: number
  readonly beta2: number
  readonly tau: number
}

/** m = beta m + D; w += eta m (Hsu et al. 2019, "Measuring the Effects of Non-Identical Data Distribution", FedAvgM). */
export const momentum = ({ eta, beta1 }: Rates): Optimizer => ({
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

export const adagrad = (rates: Rates): Optimizer => adaptive(rates, (v, square) => v + square)

export const yogi = (rates: Rates): Optimizer =>
  adaptive(rates, (v, square) => v - (1 - rates.beta2) * square * Math.sign(v - square))

export const adam = (rates: Rates): Optimizer =>
  adaptive(rates, (v, square) => rates.beta2 * v + (1 - rates.beta2) * square)

const VARIANTS: Readonly<Record<string, (rates: Rates) => Optimizer>> = { momentum, adagrad, yogi, adam }

export const ratesOf = (options: Parameters<typeof numberOption>[0]): Rates => ({
  eta: numberOption(options, 'server_learning_rate'),
  beta1: numberOption(options, 'beta1'),
  beta2: numberOption(options, 'beta2'),
  tau: numberOption(options, 'tau'),
})

/** Uses the server optimizer named by the option `variant`: momentum, adagrad, yogi, or adam. */
export const fedopt: StrategyFactory = (kernel, round) =>
  optimizedBy(kernel, round, VARIANTS[String(round.options.variant)]!(ratesOf(round.options)))
