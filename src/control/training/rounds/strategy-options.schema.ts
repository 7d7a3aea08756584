import { Type } from 'typebox'
import type { OptionRule } from '../../../domain/strategy-options.ts'
import { ACCEPTED_STRATEGY_NAMES, STRATEGY_NAMES, STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { DOCUMENTED_AS, FreeObject, OneOf } from '../../../platform/http/wire.schema.ts'

const optionSchema = (rule: OptionRule): object => ({
  ...(rule.kind === 'choice'
    ? { type: 'string', enum: [...rule.choices] }
    : {
        type: rule.kind,
        [rule.exclusiveMinimum ? 'exclusiveMinimum' : 'minimum']: rule.min,
        [rule.exclusiveMaximum ? 'exclusiveMaximum' : 'maximum']: rule.max,
      }),
  ...(typeof rule.default !== 'function' && { default: rule.default }),
  description: rule.description,
})

const optionsOf = (name: (typeof STRATEGY_NAMES)[number]): object => ({
  type: 'object',
  title: `${name[0]!.toUpperCase()}${name.slice(1)}Options`,
  description: STRATEGY_RULES[name].description,
  properties: Object.fromEntries(
    Object.entries(STRATEGY_RULES[name].options).map(([option, rule]) => [option, optionSchema(rule)]),
  ),
  additionalProperties: false,
})

export const StrategyName = OneOf(STRATEGY_NAMES, { title: 'Strategy', description: 'An aggregation strategy' })

/** How a request names its strategy. */
export const StrategyField = Type.Optional(
  OneOf(ACCEPTED_STRATEGY_NAMES, {
    title: 'AcceptedStrategy',
    description: 'fedavg when absent; fedyogi, fedadagrad and fedavgm are fedopt with that variant',
  }),
)

/** Options are checked with their strategy, by `strategySettings`; the document has the same rules as a schema. */
export const StrategyOptionsField = Type.Optional(
  Type.Unsafe<Record<string, unknown>>({
    ...FreeObject,
    [DOCUMENTED_AS]: {
      title: 'StrategyOptions',
      description: 'Options of the chosen strategy',
      anyOf: STRATEGY_NAMES.map(optionsOf),
    },
  }),
)
