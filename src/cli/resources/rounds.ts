import { ACCEPTED_STRATEGY_NAMES } from '../../domain/strategy-rules.ts'
import type { Action, Argument, Column, Resource } from './resource.ts'

const round: Argument = {
  name: 'round',
  help: 'a round, by number or id; latest: the newest',
  find: 'round',
  default: 'latest',
}

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

const start: Action = {
  name: 'start',
  summary: 'start one round; svc train start runs many',
  request: 'POST /api/v1/training/rounds/start',
  options: [
    {
      flags: '--target-devices <count>',
      help: 'devices to select',
      field: 'target_devices',
      parse: 'number',
      required: true,
    },
    {
      flags: '--min-devices <count>',
      help: 'updates that it needs',
      field: 'min_devices',
      parse: 'number',
      required: true,
    },
    {
      flags: '--model <model>',
      help: 'where it begins (default: the latest aggregate)',
      field: 'global_model_id',
      find: 'model',
    },
    {
      flags: '--timeout <seconds>',
      help: 'how long it may take (default: 300)',
      field: 'timeout_seconds',
      parse: 'number',
    },
    {
      flags: '--strategy <strategy>',
      help: 'how updates become one',
      field: 'strategy',
      choices: ACCEPTED_STRATEGY_NAMES,
    },
    {
      flags: '--option <key=value>',
      help: 'an option of the strategy; repeatable',
      field: 'strategy_options',
      parse: 'pairs',
    },
    {
      flags: '--hyperparameter <key=value>',
      help: 'for the devices; repeatable',
      field: 'hyperparameters',
      parse: 'pairs',
    },
    { flags: '--group <group>', help: 'only devices of this group, by name or id', field: 'group' },
    { flags: '--federation <federation>', help: 'devices of its active members, by name or id', field: 'federation' },
    {
      flags: '--privacy <key=value>',
      help: 'noise_multiplier=1 clip_norm=1; repeatable',
      field: 'privacy',
      parse: 'pairs',
    },
    {
      flags: '--secure-aggregation <key=value>',
      help: 'threshold=3; repeatable',
      field: 'secure_aggregation',
      parse: 'pairs',
    },
    { flags: '--raw-vector', help: 'model and updates are bare float32 vectors', field: 'raw_vector', parse: 'flag' },
    { flags: '--org <org_id>', help: 'its organization (default: that of the key)', field: 'org_id' },
  ],
  done: 'Started round {round_number} ({id}): {target_devices} devices, at least {min_devices} updates.',
  hint: 'Watch it with: svc rounds show {round_number}',
}

export const rounds: Resource = {
  name: 'rounds',
  summary: 'start rounds and see who took part',
  actions: [
    {
      name: 'list',
      summary: 'list rounds, newest first',
      request: 'GET /api/v1/training/rounds',
      rows: 'rounds',
      columns: COLUMNS,
      none: 'No rounds. Train with: svc train start <model>',
    },
    { name: 'show', summary: 'show a round', request: 'GET /api/v1/training/rounds/{round_id}/status', args: [round] },
    start,
    {
      name: 'cancel',
      summary: 'end a round at once',
      request: 'POST /api/v1/training/rounds/{round_id}/cancel',
      args: [round],
      options: [{ flags: '--reason <text>', help: 'shown with the round', field: 'reason' }],
      done: 'Cancelled round {round_number} ({id}).',
    },
    {
      name: 'participants',
      summary: 'list the devices of a round with their reasons',
      request: 'GET /api/v1/training/rounds/{round_id}/participants',
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
      none: 'Nobody took part.',
    },
    {
      name: 'updates',
      summary: 'list the updates of a round',
      request: 'GET /api/v1/training/rounds/{round_id}/updates',
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
    },
    {
      name: 'selection',
      summary: 'explain whether a device was selected',
      request: 'GET /api/v1/training/rounds/{round_id}/selection',
      args: [{ name: 'device', help: 'a device, by its device id', field: 'device_id' }, round],
    },
    {
      name: 'receipt',
      summary: 'show the receipt of a completed round',
      request: 'GET /api/v1/training/rounds/{round_id}/receipt',
      args: [round],
      hint: 'Replay it with: svc train verify {round_id}',
    },
    {
      name: 'secure',
      summary: 'show where a secure round stands',
      request: 'GET /api/v1/training/rounds/{round_id}/secure',
      args: [round],
    },
  ],
}
