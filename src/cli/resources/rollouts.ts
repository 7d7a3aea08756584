import {
  type Action,
  type ActionOption,
  action,
  argument,
  type Column,
  HISTORY_COLUMNS,
  option,
  PLAN_DEVICE_COLUMNS,
  type Resource,
} from './resource.ts'

const rollout = argument('rollout', 'a rollout, by id or its first characters; for a model, its newest rollout', {
  find: 'rollout',
})
export const modelArgument = argument('model', 'a model, by name or id', { find: 'model' })
const reason = option('--reason <text>', 'stored in its history', 'reason')
const AT = '/api/v1/models/{model_id}/rollouts/{rollout_id}'

const COLUMNS: readonly Column[] = [
  ['MODEL', (row) => row.model_name ?? row.model_id],
  ['VERSION', 'version'],
  ['STATUS', 'status'],
  ['AT', 'percentage', 'percent'],
  ['TARGET', 'target_percentage', 'percent'],
  ['NEXT STEP', 'next_step_at', 'time'],
  ['CREATED', 'created_at', 'time'],
  ['REASON', 'reason'],
  ['ID', 'rollout_id', 'id'],
]

/** The options that define the steps of a rollout, shared by `create` and `preview`. */
const steps: readonly ActionOption[] = [
  option('--version <version>', 'version to deliver', 'version', { required: true }),
  option('--percentage <percent>', 'initial percentage', 'rollout_percentage', { parse: 'number', required: true }),
  option('--target <percent>', 'final percentage (default: 100)', 'target_percentage', 'number'),
  option('--step <percent>', 'increase at each step (default: 10)', 'increment_step', 'number'),
  option('--interval <minutes>', 'minutes between steps (default: 60)', 'step_interval_minutes', 'number'),
  option('--group <group>', 'only devices of this group, by name or id', 'group'),
]

/** A change of a rollout that takes a reason; `did` is its past tense. */
const move = (name: string, did: string, summary: string): Action =>
  action(name, summary, `POST ${AT}/${name}`, {
    args: [rollout],
    options: [reason],
    done: `${did} the rollout of version {version}: {status} at {percentage}% ({rollout_id}).`,
  })

export const rollouts: Resource = {
  name: 'rollouts',
  summary: 'create, control, and inspect rollouts',
  actions: [
    action('list', 'list rollouts, newest first', 'GET /api/v1/rollouts', {
      options: [
        option('--model <model>', 'only rollouts of this model, by name or id', 'model_id', {
          find: 'model',
          conflicts: 'status',
          request: 'GET /api/v1/models/{model_id}/rollouts',
        }),
        option('--status <status>', 'only rollouts in this state', 'status', {
          choices: ['pending', 'active', 'paused', 'completed', 'rolled_back'],
        }),
      ],
      rows: 'rollouts',
      columns: COLUMNS,
      none: 'No rollouts. Deploy with: svc deploy <model>',
    }),
    action('show', 'show a rollout', `GET ${AT}`, { args: [rollout] }),
    action('create', 'create a rollout of a version', 'POST /api/v1/models/{model_id}/rollouts', {
      args: [modelArgument],
      options: [
        ...steps,
        option('--auto-rollback', 'roll back, instead of pausing, when too many devices fail', 'auto_rollback', 'flag'),
        option('--no-start', 'keep it pending until svc rollouts start', 'start_immediately', 'off'),
      ],
      done: 'Created the rollout of version {version}: {status} at {percentage}% ({rollout_id}).',
      hint: 'Watch it with: svc status {model_name} --watch',
    }),
    action('preview', 'preview the steps of a rollout', 'POST /api/v1/models/{model_id}/rollouts/dry-run', {
      args: [modelArgument],
      options: steps,
      rows: 'steps',
      columns: [
        ['AFTER MINUTES', 'after_minutes', 'count'],
        ['AT', 'percentage', 'percent'],
        ['DEVICES', 'devices', 'count'],
      ],
    }),
    action('start', 'start a pending rollout', `POST ${AT}/start`, {
      args: [rollout],
      options: [reason],
      done: 'The rollout of version {version} is {status} at {percentage}% ({rollout_id}).',
    }),
    move('pause', 'Paused', 'pause a rollout'),
    move('resume', 'Resumed', 'resume a rollout'),
    move('advance', 'Advanced', 'advance a rollout by one step'),
    move('rollback', 'Rolled back', 'roll back a rollout'),
    action('set-percentage', 'set the percentage of a rollout', `PUT ${AT}/percentage`, {
      args: [rollout, argument('percent', 'percentage, 0 to 100', { field: 'percentage', parse: 'number' })],
      done: 'The rollout of version {version} is {status} at {percentage}% ({rollout_id}).',
    }),
    action('history', 'list the events of a rollout', `GET ${AT}/history`, {
      args: [rollout],
      rows: 'events',
      columns: HISTORY_COLUMNS,
    }),
    action('devices', 'list the devices of a rollout by state', `GET ${AT}/devices`, {
      args: [rollout],
      rows: 'devices',
      columns: PLAN_DEVICE_COLUMNS,
      none: 'No devices yet.',
    }),
    action('delete', 'cancel and delete a rollout', `DELETE ${AT}`, {
      args: [rollout],
      confirm: 'Deleting the rollout {rollout} (its devices return to their previous versions)',
      done: 'Deleted rollout {rollout_id}.',
    }),
  ],
}
