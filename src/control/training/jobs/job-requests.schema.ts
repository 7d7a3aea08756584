import { Type } from 'typebox'
import { GOALS } from '../../../domain/metric-goal.ts'
import { TIMEOUT_SECONDS } from '../../../domain/round.ts'
import {
  EVALUATION_SECONDS,
  JOB_ROUNDS,
  MIN_DEVICES_DEFAULT,
  OVER_SELECTION,
  PUBLISH,
  WAIT_FOR_DEVICES_SECONDS,
} from '../../../domain/training-job.ts'
import { Body, FreeRequestObject, Line, OneOf, OrgId, Part } from '../../../platform/http/wire.schema.ts'
import {
  ClipNorm,
  NoiseMultiplier,
  ParticipantScopeFields,
  RawVector,
  StrategyField,
  StrategyOptionsField,
  TargetDelta,
} from '../rounds/round-settings.schema.ts'
import { SecureAggregation } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'

const MAX_DEVICES = 10_000_000
const Devices = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DEVICES, description }))

const StopWhen = Type.Object(
  {
    improvement_below: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          'Stop when the best value of the last `patience` rounds is better than the best before them by less than this amount',
      }),
    ),
    loss_improvement_below: Type.Optional(
      Type.Number({ minimum: 0, description: 'The same, for jobs that optimize the loss' }),
    ),
    patience: Type.Integer({ minimum: 1, maximum: 1000 }),
  },
  {
    title: 'NewStopCondition',
    description: 'When to stop before all rounds are completed',
  },
)
export const METRIC =
  'The metric that stop_when and `publish: best` use: loss (the default), accuracy, one that devices report (f1), or one from ' +
  'the held-out evaluation (evaluation.f1)'

export const StartJobBody = Body('NewJob', 'A training job to start', examples.newJob, {
  model: Type.String({
    minLength: 1,
    description: 'Id or name of a model with an uploaded version; my-model@production starts from that version',
  }),
  name: Type.Optional(Line(200, 'A label; the API identifies jobs by id only')),
  org_id: Type.Optional(
    OrgId(
      'Only for keys that are not bound to an organization; default: the organization of the group or federation, or else of the device that owns the key, or else of the model',
    ),
  ),
  strategy: StrategyField,
  strategy_options: StrategyOptionsField,
  rounds: Type.Optional(
    Type.Integer({
      minimum: JOB_ROUNDS.min,
      maximum: JOB_ROUNDS.max,
      description: `Default: ${JOB_ROUNDS.default}`,
    }),
  ),
  min_devices: Devices(
    `Minimum number of updates in a round; default: ${MIN_DEVICES_DEFAULT}. krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine`,
  ),
  target_devices: Devices(
    'Number of updates that a round aims for; with fedbuff, the number of devices that train at once, and strategy_options.buffer ' +
      'updates close a round. Default: min_devices, or the number that the strategy needs if that is higher; with privacy, the lowest that works',
  ),
  over_selection: Type.Optional(
    Type.Number({
      minimum: OVER_SELECTION.min,
      maximum: OVER_SELECTION.max,
      description: `Multiple of target_devices to select; the round closes with the first target_devices updates; default: ${OVER_SELECTION.default}`,
    }),
  ),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: TIMEOUT_SECONDS.min,
      maximum: TIMEOUT_SECONDS.max,
      description: `Seconds after which a round ends, no matter how many updates have arrived; default: ${TIMEOUT_SECONDS.default}`,
    }),
  ),
  report_window_seconds: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: TIMEOUT_SECONDS.max,
      description:
        'How long to wait for stragglers once min_devices updates have arrived; in private rounds, from the start of the round. fedbuff ' +
        'and secure rounds ignore it. Default: SERVICE_STRAGGLER_GRACE_SECONDS where set, else 10% of timeout_seconds, but at least 5 ' +
        'and at most 60 s, or all of timeout_seconds in private rounds',
    }),
  ),
  wait_for_devices_seconds: Type.Optional(
    Type.Integer({
      minimum: WAIT_FOR_DEVICES_SECONDS.min,
      maximum: WAIT_FOR_DEVICES_SECONDS.max,
      description: `How long a round waits for min_devices active devices; default: ${WAIT_FOR_DEVICES_SECONDS.default}`,
    }),
  ),
  ...ParticipantScopeFields,
  hyperparameters: Type.Optional(
    FreeRequestObject('Passed to the devices, such as local_epochs, batch_size, learning_rate'),
  ),
  privacy: Type.Optional(
    Part('NewJobPrivacy', 'Clipping and noise of every round', {
      noise_multiplier: Type.Optional(NoiseMultiplier),
      target_epsilon: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Over all rounds of this job' })),
      target_delta: Type.Optional(TargetDelta),
      clip_norm: ClipNorm,
      adaptive_clip: Type.Optional(Type.Boolean()),
    }),
  ),
  secure_aggregation: Type.Optional(SecureAggregation),
  stop_when: Type.Optional(StopWhen),
  metric: Type.Optional(Type.String({ minLength: 1, maxLength: 80, description: METRIC })),
  goal: Type.Optional(
    OneOf(GOALS, {
      description:
        'Which values of metric are better. Default: inferred from its name; losses, errors, failures, costs, times, and memory are minimized, all others maximized',
    }),
  ),
  publish: Type.Optional(
    OneOf(PUBLISH, {
      description:
        'Which results become versions of the model: the last (the default), the result of every round, each new best by metric, or none',
    }),
  ),
  raw_vector: Type.Optional(RawVector),
  evaluation_seconds: Type.Optional(
    Type.Integer({
      minimum: EVALUATION_SECONDS.min,
      maximum: EVALUATION_SECONDS.max,
      description:
        'How long devices that offered it have to evaluate the last model; default: 10% of timeout_seconds, but at least 5 and at most 60 s',
    }),
  ),
})

const Rounds = (description: string) => Type.Integer({ minimum: JOB_ROUNDS.min, maximum: JOB_ROUNDS.max, description })

export const ResumeJobBody = Body('JobResumption', 'How to resume a stopped or failed job', examples.jobResumption, {
  rounds: Type.Optional(
    Rounds(
      'The number of rounds to add to the completed ones; default: the rounds left, or as many of them as target_epsilon still allows',
    ),
  ),
})

export const ExtendJobBody = Body('JobExtension', 'How to extend a completed job', examples.jobExtension, {
  rounds: Rounds('The number of rounds to add to the completed ones'),
})
