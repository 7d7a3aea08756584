import { Type } from 'typebox'
import type { OptionRule } from '../../../domain/strategy-options.ts'
import { ACCEPTED_STRATEGY_NAMES, STRATEGY_NAMES, STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { DOCUMENTED_AS } from '../../../platform/http/openapi.ts'
import { FreeObject, OneOf } from '../../../platform/http/wire.schema.ts'

const optionSchema = (rule: OptionRule): object => ({
  ...(rule.kind === 'choice'
    ? { type: 'string', enum: [...rule.choices] }
    : {
        type: rule.kind,
        [rule.above ? 'exclusiveMinimum' : 'minimum']: rule.min,
        [rule.below ? 'exclusiveMaximum' : 'maximum']: rule.max,
      }),
  ...(typeof rule.fallback !== 'function' && { default: rule.fallback }),
  description: rule.about,
})

const optionsOf = (name: (typeof STRATEGY_NAMES)[number]): object => ({
  type: 'object',
  title: name,
  description: STRATEGY_RULES[name].about,
  properties: Object.fromEntries(
    Object.entries(STRATEGY_RULES[name].options).map(([option, rule]) => [option, optionSchema(rule)]),
  ),
  additionalProperties: false,
})

/** How a request names its strategy. */
export const StrategyField = Type.Optional(
  OneOf(ACCEPTED_STRATEGY_NAMES, {
    description: 'fedavg when absent; fedyogi, fedadagrad and fedavgm are fedopt with that variant',
  }),
)

/** Options are checked with their strategy, by `strategySettings`; the document has the same rules as a schema. */
export const StrategyOptionsField = Type.Optional(
  Type.Unsafe<Record<string, unknown>>({
    ...FreeObject,
    [DOCUMENTED_AS]: { description: "The strategy's own options", anyOf: STRATEGY_NAMES.map(optionsOf) },
  }),
)
