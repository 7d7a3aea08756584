import { Type } from 'typebox'
import {
  Body,
  Count,
  Envelope,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../platform/http/wire.schema.ts'
import { examples } from './federations.examples.ts'

const Accountant = OneOf(['rdp', 'pld'], {
  title: 'LedgerAccountant',
  description: 'The tighter bound: Rényi differential privacy, or the privacy loss distribution',
})
const Delta = Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 })
const Epsilon = Type.Number({ minimum: 0 })

const round = {
  noise_multiplier: Parameter(
    'NoiseMultiplier',
    Type.Number({
      exclusiveMinimum: 0,
      description:
        'Standard deviation of the noise divided by the clip norm; at least 1e-9; values above 1e6 count as 1e6',
    }),
  ),
  sample_rate: Parameter(
    'SampleRate',
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description:
        'Probability that a device is drawn: target devices / eligible devices; values below 1e-9 count as 1e-9',
    }),
  ),
  num_steps: Parameter(
    'NumSteps',
    Type.Integer({ minimum: 1, maximum: 1e9, default: 1, description: 'Number of rounds of this kind' }),
  ),
}
const target_delta = Type.Optional(
  Parameter('TargetDelta', Type.Number({ ...Delta, description: "Default: the budget's delta" })),
)

export const BudgetBody = Body('NewBudget', 'A privacy budget to set', examples.newBudget, {
  total_epsilon_budget: Type.Number({ exclusiveMinimum: 0, description: 'Total epsilon that all rounds may spend' }),
  total_delta_budget: Type.Optional(
    Type.Number({ ...Delta, default: 1e-5, description: 'The delta at which epsilon is accounted' }),
  ),
})

export const PrivacyBudget = Body(
  'PrivacyBudget',
  'A privacy budget, and how much of it is spent',
  examples.privacyBudget,
  {
    federation_id: Uuid,
    total_epsilon_budget: Type.Number({ minimum: 0, description: '0 until a budget is set' }),
    total_delta_budget: Delta,
    current_epsilon_spent: Epsilon,
    epsilon_remaining: Epsilon,
    is_exhausted: Type.Boolean(),
    rounds_tracked: Count,
    is_set: Type.Boolean({
      description: 'Whether the owner has set a budget; private rounds need one',
    }),
    epsilon_committed: Type.Number({
      minimum: 0,
      description: 'Spent so far, including what rounds in progress have reserved',
    }),
    accountant: Accountant,
  },
)

export const EstimateQuery = Type.Object({ ...round, target_delta })
export const Estimate = Body('PrivacyEstimate', 'What a private round would cost', examples.privacyEstimate, {
  current_epsilon: Type.Number({
    minimum: 0,
    description: 'Spent so far, including what rounds in progress have reserved',
  }),
  projected_epsilon: Epsilon,
  round_epsilon_cost: Type.Number({
    minimum: 0,
    description: 'The increase of epsilon; less than the cost of the round alone, because costs are composed',
  }),
  would_exceed_budget: Type.Boolean({ description: 'True until a budget is set' }),
  budget_epsilon: Type.Number({ minimum: 0, description: '0 until a budget is set' }),
  target_delta: Delta,
  accountant: Accountant,
  projected_epsilon_rdp: Epsilon,
  projected_epsilon_pld: Nullable(Epsilon),
})

export const HistoryQuery = Type.Object(Page({ max: 200, default: 100 }))
export const PrivacyHistory = Body('PrivacyHistory', 'A page of the privacy spent per round', examples.privacyHistory, {
  federation_id: Uuid,
  history: Type.Array(
    Part('PrivacySpending', 'What one private round spent', {
      round_id: Uuid,
      job_id: Nullable(Uuid),
      status: OneOf(['reserved', 'settled']),
      noise_multiplier: Type.Number(),
      sample_rate: Type.Number(),
      num_steps: Type.Integer(),
      clip_norm: Nullable(Type.Number()),
      epsilon_cost: Nullable(
        Type.Number({ description: 'Epsilon that the round added; null while it is only reserved' }),
      ),
      cumulative_epsilon: Nullable(Epsilon),
      accountant: Nullable(Accountant),
      reserved_at: Timestamp,
      settled_at: Nullable(Timestamp),
    }),
  ),
  target_delta: Delta,
  ...Envelope,
})

export const NoiseQuery = Type.Object({
  sample_rate: round.sample_rate,
  num_steps: round.num_steps,
  target_epsilon: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: "Default: the budget's" })),
  target_delta,
})
export const NoiseResponse = Body(
  'NoiseForEpsilon',
  'The lowest noise multiplier for an epsilon',
  examples.noiseForEpsilon,
  {
    federation_id: Uuid,
    noise_multiplier: Nullable(Type.Number({ description: 'Null when no amount of noise is enough' })),
    target_epsilon: Epsilon,
    target_delta: Delta,
    sample_rate: Type.Number(),
    num_steps: Type.Integer(),
    current_epsilon: Epsilon,
  },
)

export const RoundsLeftQuery = Type.Object({ ...round, target_delta })
export const RoundsLeft = Body(
  'PrivateRoundsLeft',
  'How many more such rounds fit the budget',
  examples.privateRoundsLeft,
  {
    federation_id: Uuid,
    rounds_left: Type.Integer({
      minimum: 0,
      description: 'How many more times `num_steps` such rounds fit the budget, at most 10,000,000',
    }),
    budget_epsilon: Epsilon,
    target_delta: Delta,
    current_epsilon: Epsilon,
  },
)
