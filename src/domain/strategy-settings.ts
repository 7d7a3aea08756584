import { badRequest } from './errors.ts'
import { ownEntry } from './own-entry.ts'
import { checkedOption, type OptionValue, type StrategyOptions } from './strategy-options.ts'
import {
  ACCEPTED_STRATEGY_NAMES,
  DEFAULT_STRATEGY,
  FEDOPT_VARIANTS,
  isFedoptVariant,
  isStrategyName,
  STRATEGY_NAMES,
  STRATEGY_RULES,
  type StrategyName,
} from './strategy-rules.ts'

/** A strategy with all of its options, validated and with defaults filled in. */
export interface StrategySettings {
  readonly name: StrategyName
  readonly options: StrategyOptions
}

/**
 * Validates a strategy's settings and fills in defaults. Unknown names and options, wrong types and values out of range throw
 * bad_request naming the field (`strategy_options.trim`). `fedyogi`, `fedadagrad` and `fedavgm` become fedopt with that
 * variant.
 */
export const strategySettings = (
  name: string = DEFAULT_STRATEGY,
  options: Readonly<Record<string, unknown>> = {},
): StrategySettings => {
  if (isFedoptVariant(name)) {
    const variant = FEDOPT_VARIANTS[name]
    if (Object.hasOwn(options, 'variant') && options.variant !== variant) {
      throw badRequest(
        `strategy_options.variant must be left out, or '${variant}': ${name} is fedopt with that variant.`,
      )
    }
    return strategySettings('fedopt', { ...options, variant })
  }
  if (!isStrategyName(name)) {
    const known = ACCEPTED_STRATEGY_NAMES.join(', ')
    throw badRequest(`strategy '${name}' is unknown. Use one of: ${known}.`)
  }
  const rules = STRATEGY_RULES[name].options
  for (const key of Object.keys(options)) {
    if (Object.hasOwn(rules, key)) continue
    const known = Object.keys(rules)
    throw badRequest(
      `strategy_options.${key} is not an option of ${name}, which ` +
        `${known.length === 0 ? 'has none' : `has: ${known.join(', ')}`}.`,
    )
  }
  const settled: Record<string, OptionValue> = {}
  for (const [key, rule] of Object.entries(rules)) {
    const given = ownEntry(options, key)
    if (given !== undefined) settled[key] = checkedOption(`strategy_options.${key}`, given, rule)
    else settled[key] = typeof rule.default === 'function' ? rule.default(settled) : rule.default
  }
  return { name, options: settled }
}

/** Returns the number of updates below which a round cannot succeed: Krum needs 2f + 3 (Blanchard et al. 2017, section 3). */
export const minUpdates = ({ options: { byzantine: f } }: StrategySettings): number =>
  typeof f === 'number' ? 2 * f + 3 : 1

/** Returns `minDevices`, raised to what the strategy needs. Throws bad_request if a round closes with fewer updates than that. */
export const minDevicesFor = (
  strategy: StrategySettings,
  { minDevices, requested }: { readonly minDevices: number; readonly requested: number },
): number => {
  const minimum = minUpdates(strategy)
  if (requested < minimum) {
    throw badRequest(
      `target_devices (${requested}) is too low for strategy '${strategy.name}' with strategy_options.byzantine ` +
        `${strategy.options.byzantine}: it needs 2f + 3 = ${minimum} updates. Set target_devices to that, or byzantine lower.`,
    )
  }
  return Math.max(minDevices, minimum)
}

/** Throws bad_request with the reason if the strategy cannot be combined with clipping and noise. */
export const requirePrivacyAllowed = (name: StrategyName): void => {
  const allowed = STRATEGY_RULES[name].privacy
  if (allowed === true) return
  throw badRequest(`privacy cannot be combined with strategy '${name}': ${allowed}. Use ${allowing('privacy')}.`)
}

/** Throws bad_request with the reason if the strategy cannot work with only a sum. */
export const requireSecureAggregationAllowed = (name: StrategyName): void => {
  const allowed = STRATEGY_RULES[name].secureAggregation
  if (allowed === true) return
  throw badRequest(
    `secure_aggregation cannot be combined with strategy '${name}': ${allowed}. Use ${allowing('secureAggregation')}.`,
  )
}

const allowing = (what: 'privacy' | 'secureAggregation'): string =>
  STRATEGY_NAMES.filter((name) => STRATEGY_RULES[name][what] === true).join(', ')

/** True if a round works on changes to a model (null: no strategy was named). */
export const needsModel = (strategy: StrategySettings | null, isPrivate: boolean): boolean =>
  strategy !== null && (isPrivate || STRATEGY_RULES[strategy.name].needsModel === true)

/** Throws bad_request if a round without a job cannot use the strategy (null: none was named). */
export const requireStandsAlone = (
  strategy: StrategySettings | null,
  { hasModel, isPrivate }: { readonly hasModel: boolean; readonly isPrivate: boolean },
): void => {
  if (strategy === null) return
  const { name } = strategy
  if (STRATEGY_RULES[name].asynchronous) {
    throw badRequest(`strategy '${name}' is for training jobs only: updates count for later rounds. Start a job.`)
  }
  if (!hasModel && needsModel(strategy, isPrivate)) {
    const what = isPrivate ? 'privacy' : `strategy '${name}'`
    throw badRequest(`global_model_id is required with ${what}, which works on the changes of a model.`)
  }
}
