import { ROUND_STATUSES } from '../../domain/round.ts'
import { ACCEPTED_STRATEGY_NAMES } from '../../domain/strategy-rules.ts'
import { Failure } from '../failure.ts'
import { type Action, action, argument, type Column, option, type Resource } from './resource.ts'

const round = argument('round', 'a round, by number or id; latest: the newest', { find: 'round', default: 'latest' })

const AT = '/api/v1/training/rounds/{round_id}'

const CANCEL = `POST ${AT}/cancel`
const canceling: Pick<Action, 'options' | 'done' | 'notes'> = {
  options: [option('--reason <text>', 'shown with the round', 'reason')],
  done: 'Canceled round {round_number} ({id}).',
  notes: async ({ job_id: job }) =>
    job === undefined ? [] : [`Its job continues with another round. To stop the job: svc train stop ${job}`],
}

/** Large rounds take minutes to replay; fetch itself times out after five. */
const REPLAY_TIMEOUT_MS = 290_000

/** The commands of `svc train` that change or check a round. */
export const trainRoundActions: readonly Action[] = [
  action('cancel', 'cancel a training round', CANCEL, {
    ...canceling,
    args: [
      argument('round_id', 'a round in progress; its job, if any, continues with another round', { find: 'round' }),
    ],
  }),
  action('verify', 'replay a completed round and compare the result', `POST ${AT}/receipt/replay`, {
    args: [argument('round_id', 'a completed round whose updates are still kept', { find: 'round' })],
    timeoutMs: REPLAY_TIMEOUT_MS,
    fields: [
      ['Round', 'round_id'],
      ['Receipt', ({ expected_sha256: hash }) => `sha256:${hash}`],
      ['Replayed', ({ replayed_sha256: hash }) => `sha256:${hash}`],
      ['Bytes', ({ matches }) => (matches === true ? 'equal' : 'different')],
    ],
    failure: ({ matches, round_id }) =>
      matches === true
        ? null
        : new Failure(`Round ${round_id} does not reproduce the result in its receipt.`, {
            advice: 'The updates, the aggregating service, or the receipt has changed since.',
          }),
  }),
]

const COLUMNS: readonly Column[] = [
  ['ROUND', 'round_number', 'count'],
  ['STATUS', 'status'],
  ['UPDATES', (row) => `${row.completed_devices}/${row.participated_devices}`],
  ['FAILED', 'failed_devices', 'count'],
  ['LOSS', 'loss', 'figure'],
  ['ACCURACY', 'accuracy', 'share'],
  ['STRATEGY', 'strategy'],
  ['STARTED', 'started_at', 'time'],
  ['REASON', 'failure_reason'],
  ['ID', 'id', 'id'],
]

const start = action('start', 'start one round; svc train start runs many', 'POST /api/v1/training/rounds/start', {
  options: [
    option('--target-devices <count>', 'number of devices to aim for', 'target_devices', {
      parse: 'number',
      required: true,
    }),
    option('--min-devices <count>', 'minimum number of updates', 'min_devices', { parse: 'number', required: true }),
    option('--model <model>', 'model to train (default: the latest aggregate)', 'global_model_id', { find: 'model' }),
    option('--timeout <seconds>', 'maximum duration (default: 300)', 'timeout_seconds', 'number'),
    option('--strategy <strategy>', 'aggregation strategy', 'strategy', { choices: ACCEPTED_STRATEGY_NAMES }),
    option('--option <key=value>', 'an option of the strategy; repeatable', 'strategy_options', 'pairs'),
    option('--hyperparameter <key=value>', 'hyperparameter for the devices; repeatable', 'hyperparameters', 'pairs'),
    option('--group <group>', 'only devices of this group, by name or id', 'group'),
    option('--federation <federation>', 'devices of all active members of a federation, by name or id', 'federation'),
    option(
      '--privacy <key=value>',
      'a privacy setting, such as noise_multiplier=1 or clip_norm=1; repeatable',
      'privacy',
      'pairs',
    ),
    option(
      '--secure-aggregation <key=value>',
      'a setting of secure aggregation, such as threshold=3; repeatable',
      'secure_aggregation',
      'pairs',
    ),
    option('--raw-vector', 'model and updates are raw float32 vectors', 'raw_vector', 'flag'),
    option('--org <org_id>', 'organization of the round (default: that of the key)', 'org_id'),
  ],
  done: 'Started round {round_number} ({id}). Devices: {target_devices}; updates: at least {min_devices}.',
  hint: 'Watch it with: svc rounds show {round_number}',
})

export const rounds: Resource = {
  name: 'rounds',
  summary: 'start and inspect rounds',
  actions: [
    action('list', 'list rounds, newest first', 'GET /api/v1/training/rounds', {
      options: [option('--status <status>', 'only rounds in this state', 'status', { choices: ROUND_STATUSES })],
      rows: 'rounds',
      columns: COLUMNS,
      none: 'No rounds. Train with: svc train start <model>',
    }),
    action('show', 'show a round', `GET ${AT}/status`, { args: [round] }),
    start,
    action('cancel', 'cancel a round in progress', CANCEL, { ...canceling, args: [round] }),
    action('participants', 'list the participants of a round', `GET ${AT}/participants`, {
      args: [round],
      rows: 'participants',
      columns: [
        ['DEVICE', 'device_identifier'],
        ['STATE', 'state'],
        ['CHOSEN', 'chosen'],
        ['SELECTED', 'selected_at', 'time'],
        ['REPORTED', 'reported_at', 'time'],
        ['REASON', 'reason'],
      ],
      none: 'No participants.',
    }),
    action('updates', 'list the updates of a round', `GET ${AT}/updates`, {
      args: [round],
      rows: 'updates',
      columns: [
        ['DEVICE', 'device_identifier'],
        ['SAMPLES', 'num_samples', 'count'],
        ['LOSS', 'local_loss', 'figure'],
        ['ACCURACY', 'local_accuracy', 'share'],
        ['NORM', 'norm', 'figure'],
        ['COSINE', 'cosine', 'figure'],
        ['WEIGHT', 'weight', 'figure'],
        ['SIZE', 'model_size_bytes', 'size'],
        ['CREATED', 'created_at', 'time'],
      ],
      none: 'No updates.',
    }),
    action('selection', 'explain whether a device was selected', `GET ${AT}/selection`, {
      args: [argument('device', 'a device, by its device id', { find: 'device', field: 'device_id' }), round],
    }),
    action('receipt', 'show the receipt of a completed round', `GET ${AT}/receipt`, {
      args: [round],
      hint: 'Replay it with: svc train verify {round_id}',
    }),
    action('secure', 'show the state of a secure round', `GET ${AT}/secure`, {
      args: [round],
    }),
  ],
}
