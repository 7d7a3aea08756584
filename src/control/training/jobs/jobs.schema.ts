import { Type } from 'typebox'
import { GOALS } from '../../../domain/metric-goal.ts'
import { PUBLISH } from '../../../domain/training-job.ts'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  Nullable,
  Omitted,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { RoundMetrics } from '../rounds/evaluation.schema.ts'
import { AccountantName, RawVector, StrategyName } from '../rounds/round-settings.schema.ts'
import { Round, RoundList } from '../rounds/rounds.schema.ts'
import { SecureAggregation } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'
import { METRIC } from './job-requests.schema.ts'

const JOB_STATUSES = ['pending', 'running', 'completed', 'failed', 'stopped'] as const
const JobStatus = OneOf(JOB_STATUSES, { title: 'JobStatus', description: 'The state of a training job' })

const StopCondition = Type.Object(
  {
    improvement_below: Type.Number({
      minimum: 0,
      description:
        'Stop when the best value of the last `patience` rounds is better than the best before them by less than this amount',
    }),
    loss_improvement_below: Type.Number({ minimum: 0, description: 'The same value as improvement_below' }),
    patience: Type.Integer({ minimum: 1, maximum: 1000 }),
  },
  {
    title: 'StopCondition',
    description: 'When to stop before all rounds are completed',
  },
)
export const OptimizerState = OneOf(['none', 'kept', 'deleted'], {
  description:
    "State that the strategy keeps between rounds (moments, control variates). deleted: the job cannot be resumed, because its state's " +
    'retention period has passed',
})

export const Job = Body('Job', 'A training job', examples.job, {
  id: Uuid,
  org_id: Nullable(Type.String()),
  name: Nullable(Type.String()),
  status: JobStatus,
  model_id: Nullable(Uuid),
  model_name: Type.Optional(
    Nullable(
      Type.String({ description: 'Only in responses that read jobs; null if the caller has no access to the model' }),
    ),
  ),
  publish: OneOf(PUBLISH),
  model_version: Nullable(Type.Integer({ minimum: 1, description: 'The version that the job started from' })),
  latest_model_id: Nullable(Uuid),
  strategy: StrategyName,
  strategy_options: FreeObject,
  rounds: Count,
  rounds_completed: Count,
  rounds_failed_in_a_row: Count,
  min_devices: Type.Integer({
    minimum: 0,
    description:
      'Minimum number of updates in a round, as requested; krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine',
  }),
  target_devices: Type.Integer({
    minimum: 0,
    description: 'Number of updates that a round aims for; with fedbuff, the number of devices that train at once',
  }),
  over_selection: Type.Number(),
  timeout_seconds: Count,
  report_window_seconds: Nullable(Type.Number()),
  wait_for_devices_seconds: Count,
  evaluation_seconds: Type.Optional(Count),
  group_id: Nullable(Uuid),
  federation_id: Nullable(Uuid),
  hyperparameters: FreeObject,
  omitted: Omitted,
  privacy: Nullable(
    Part('JobPrivacy', 'The current clipping and noise', {
      noise_multiplier: Type.Number(),
      clip_norm: Type.Number({ description: 'The current value under adaptive clipping' }),
      adaptive_clip: Type.Boolean(),
      target_delta: Type.Optional(Type.Number({ description: 'The delta at which epsilon is accounted' })),
      target_epsilon: Type.Optional(
        Type.Number({ description: 'The limit on the total cost of all rounds, if one was set' }),
      ),
    }),
  ),
  secure_aggregation: Nullable(SecureAggregation),
  stop_when: Nullable(StopCondition),
  metric: Type.String({ description: METRIC }),
  goal: OneOf(GOALS, {
    description: 'Which values of metric are better: as requested, otherwise inferred from its name',
  }),
  raw_vector: Type.Optional(RawVector),
  ended_by: Nullable(
    OneOf(['rounds_done', 'converged', 'budget_spent', 'rounds_failed', 'no_devices', 'cannot_start', 'stopped']),
  ),
  reason: Nullable(Type.String()),
  waiting_until: Nullable(Timestamp),
  waiting_for: Nullable(
    Type.String({ description: 'What it waits for: devices, its turn, or evaluations of its last model' }),
  ),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  ended_at: Nullable(Timestamp),
  resumed_at: Nullable(Timestamp),
  optimizer_state: OptimizerState,
})

const JobRound = Part('JobRound', "A round in a job's history", {
  round_id: Uuid,
  round_number: Count,
  status: Round.properties.status,
  loss: Nullable(Type.Number()),
  accuracy: Nullable(Type.Number()),
  completed_devices: Count,
  failed_devices: Count,
  aggregated_model_id: Nullable(Uuid),
  failure_reason: Nullable(Type.String()),
  started_at: Nullable(Timestamp),
  ended_at: Nullable(Timestamp),
  ...RoundMetrics,
})

const Published = Part('PublishedVersion', 'A version that the job added to its model', {
  version: Type.Integer({ minimum: 1 }),
  version_label: Type.String(),
  round_id: Uuid,
  round_number: Count,
})

export const JobDetail = Body('JobDetail', 'A training job with its latest rounds', examples.jobDetail, {
  ...Job.properties,
  privacy_spent: Type.Optional(
    Type.Object(
      { epsilon: Type.Number(), target_delta: Type.Number(), accountant: AccountantName, rounds: Count },
      { description: 'The total cost of the private rounds started so far, however they ended; absent without noise' },
    ),
  ),
  published: Type.Array(Published, { description: 'The versions that the job has added to its model, oldest first' }),
  history: Type.Array(JobRound, { description: 'The latest 100 rounds, oldest first' }),
})

const JobId = Parameter('JobId', Type.String({ description: 'Id of a training job' }))
export const JobParams = Type.Object({ job_id: JobId })
export const ListJobsQuery = Type.Object({
  status: Type.Optional(JobStatus),
  model: Type.Optional(Type.String({ description: 'Id or name of the model that the job started from' })),
  ...Page({ max: 1000, default: 100 }),
})
export const JobList = Body('JobList', 'A page of training jobs', examples.jobList, {
  jobs: Type.Array(Job),
  ...Envelope,
})
export const JobRoundsQuery = Type.Object(Page({ max: 1000, default: 100 }))
export const JobRounds = RoundList
