import { badRequest } from './errors.ts'

export type OptionValue = number | string
export type StrategyOptions = Readonly<Record<string, OptionValue>>

/** What one option may be. `default` may depend on the options that come before it in the table. */
export type OptionRule = {
  readonly description: string
  readonly default: OptionValue | ((given: StrategyOptions) => OptionValue)
} & (
  | {
      readonly kind: 'number' | 'integer'
      readonly min: number
      readonly max: number
      /** The bound itself is not allowed. */
      readonly exclusiveMinimum?: true
      readonly exclusiveMaximum?: true
    }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
)

/** The value when the rule allows it; throws bad_request naming the field. */
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

const shown = (given: unknown): string => (typeof given === 'string' ? `'${given}'` : String(given))
