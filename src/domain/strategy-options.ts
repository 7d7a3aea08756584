import { badRequest } from './errors.ts'
import { cut } from './text.ts'

export type OptionValue = number | string
export type StrategyOptions = Readonly<Record<string, OptionValue>>

/** The rules of one option. `default` may depend on the options that precede it in the table. */
export type OptionRule = {
  readonly description: string
  readonly default: OptionValue | ((given: StrategyOptions) => OptionValue)
} & (
  | {
      readonly kind: 'number' | 'integer'
      readonly min: number
      readonly max: number
      /** The bound itself is excluded. */
      readonly exclusiveMinimum?: true
      readonly exclusiveMaximum?: true
    }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
)

/** Returns the value if the rule allows it. Throws bad_request naming the field. */
export const checkedOption = (field: string, given: unknown, rule: OptionRule): OptionValue => {
  if (rule.kind === 'choice') {
    if (typeof given === 'string' && rule.choices.includes(given)) return given
    throw badRequest(`${field} must be one of: ${rule.choices.join(', ')}. It is ${shown(given)}.`)
  }
  const inRange =
    typeof given === 'number' &&
    Number.isFinite(given) &&
    (rule.kind === 'number' || Number.isInteger(given)) &&
    (rule.exclusiveMinimum ? given > rule.min : given >= rule.min) &&
    (rule.exclusiveMaximum ? given < rule.max : given <= rule.max)
  if (inRange) return given
  throw badRequest(
    `${field} must be ${rule.kind === 'integer' ? 'a whole number' : 'a number'} ` +
      `${rule.exclusiveMinimum ? 'above' : 'of at least'} ${rule.min} and ${rule.exclusiveMaximum ? 'below' : 'at most'} ${rule.max}. ` +
      `It is ${shown(given)}.`,
  )
}

const shown = (given: unknown): string =>
  cut(typeof given === 'string' ? `'${given}'` : typeof given === 'number' ? String(given) : JSON.stringify(given), 100)

/** A learning rate; its default may depend on other options. */
export const rate = (description: string, defaultValue: OptionRule['default']): OptionRule => ({
  kind: 'number',
  min: 0,
  exclusiveMinimum: true,
  max: 1000,
  default: defaultValue,
  description,
})

export const byzantine: OptionRule = {
  kind: 'integer',
  min: 0,
  max: 10_000,
  default: 1,
  description:
    'f, the number of Byzantine (arbitrarily wrong) updates to withstand; a round needs at least 2f + 3 updates.',
}

/** Reddi et al. 2021, "Adaptive Federated Optimization", algorithm 2 and appendix: beta1 0.9, beta2 0.99, tau 1e-3. */
export const moments = {
  beta1: {
    kind: 'number',
    min: 0,
    max: 1,
    exclusiveMaximum: true,
    // The paper's Adagrad does not use momentum.
    default: (given: StrategyOptions) => (given.variant === 'adagrad' ? 0 : 0.9),
    description: 'Decay rate of the first moment (momentum); default 0.9, or 0 for adagrad.',
  },
  beta2: {
    kind: 'number',
    min: 0,
    max: 1,
    exclusiveMaximum: true,
    default: 0.99,
    description: 'Decay rate of the second moment; unused by momentum and adagrad.',
  },
  tau: {
    kind: 'number',
    min: 0,
    exclusiveMinimum: true,
    max: 1,
    default: 1e-3,
    description: 'Degree of adaptivity: smaller is more adaptive.',
  },
} as const satisfies Readonly<Record<string, OptionRule>>
