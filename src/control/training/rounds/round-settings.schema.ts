import { Type } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'
import { MAX_ROUND_NOISE } from '../../../domain/privacy/mechanism.ts'
import type { OptionRule } from '../../../domain/strategy-options.ts'
import { ACCEPTED_STRATEGY_NAMES, STRATEGY_NAMES, STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { AnyObject, OneOf } from '../../../platform/http/wire.schema.ts'

// Fields that rounds and jobs have in common, in requests and responses.

export const RawVector = Type.Boolean({
  description: 'The model, if any, and the updates are raw little-endian float32 vectors',
})

const named = (description: string) => Type.Optional(Type.String({ description }))

/** Whose devices train: fields of rounds and jobs, which used to have different names; both names are accepted. */
export const ParticipantScopeFields = {
  group: named('Id or name of a device group; only its members take part'),
  group_id: named('The same as group'),
  federation: named('Id of a federation; devices of all active members take part'),
  federation_id: named('The same as federation'),
}

type ParticipantScope = { readonly [Field in keyof typeof ParticipantScopeFields]?: string }

/** @throws bad_request if both names of a field are given with different values */
export const participantScopeOf = (body: ParticipantScope) => ({
  group: either(body, 'group', 'group_id'),
  federation: either(body, 'federation', 'federation_id'),
})

const either = (
  body: ParticipantScope,
  name: keyof ParticipantScope,
  alias: keyof ParticipantScope,
): string | undefined => {
  const [one, other] = [body[name], body[alias]]
  if (one !== undefined && other !== undefined && one !== other) {
    throw badRequest(`${name} is '${one}' and ${alias} is '${other}', which mean the same. Send one of them.`)
  }
  return one ?? other
}

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

/** The strategy in a request. */
export const StrategyField = Type.Optional(
  OneOf(ACCEPTED_STRATEGY_NAMES, {
    title: 'AcceptedStrategy',
    description: 'Default: fedavg; fedyogi, fedadagrad, and fedavgm are fedopt with that variant',
  }),
)

/** `strategySettings` checks options together with their strategy; the API document has the same rules as a schema. */
export const StrategyOptionsField = Type.Optional(
  AnyObject({
    title: 'StrategyOptions',
    description: 'Options of the chosen strategy',
    anyOf: STRATEGY_NAMES.map(optionsOf),
  }),
)

export const NoiseMultiplier = Type.Number({ exclusiveMinimum: 0, maximum: MAX_ROUND_NOISE })
export const ClipNorm = Type.Number({ exclusiveMinimum: 0, maximum: 1e9 })

export const TargetDelta = Type.Number({
  exclusiveMinimum: 0,
  exclusiveMaximum: 1,
  description: 'The delta at which epsilon is reported; default: 1e-5',
})
export const AccountantName = OneOf(['rdp', 'pld'], {
  title: 'Accountant',
  description: 'The accountant with the tighter bound',
})

/** Clipping and noise, as in the API for rounds and jobs. */
export const RoundPrivacy = Type.Object(
  {
    noise_multiplier: NoiseMultiplier,
    clip_norm: ClipNorm,
    adaptive_clip: Type.Optional(Type.Boolean()),
    target_delta: Type.Optional(TargetDelta),
  },
  {
    title: 'NewRoundPrivacy',
    description: 'Every update is clipped to clip_norm, and their sum gets Gaussian noise',
  },
)

/** How a private round draws its devices; absent in rounds from before version 1.1. */
export const Sampling = {
  sampling: Type.Optional(
    OneOf(['poisson'], { description: 'Every eligible device is drawn independently with the same probability' }),
  ),
  population: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Eligible devices N; sample_rate is min(1, target_devices / N), both fixed before the draw',
    }),
  ),
  adjacency: Type.Optional(
    OneOf(['zero-out'], {
      description:
        'Adjacency that epsilon is defined for: a device takes part, or the same device sends nothing; N does not change',
    }),
  ),
}
