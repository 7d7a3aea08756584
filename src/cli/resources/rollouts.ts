import type { Action, ActionOption, Argument, Column, Resource } from './resource.ts'

const rollout: Argument = {
  name: 'rollout',
  help: 'a rollout, by id (its first characters will do); the name of a model: its newest',
  find: 'rollout',
}
export const modelArgument: Argument = { name: 'model', help: 'a model, by name or id', find: 'model' }
const reason: ActionOption = { flags: '--reason <text>', help: 'kept in its history', field: 'reason' }
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

/** What a rollout is made of: the same for one that is only worked out. */
const plan: readonly ActionOption[] = [
  { flags: '--version <version>', help: 'the version to deliver', field: 'version', required: true },
  {
    flags: '--percentage <percent>',
    help: 'the first step',
    field: 'rollout_percentage',
    parse: 'number',
    required: true,
  },
  { flags: '--target <percent>', help: 'where it ends (default: 100)', field: 'target_percentage', parse: 'number' },
  { flags: '--step <percent>', help: 'added each time (default: 10)', field: 'increment_step', parse: 'number' },
  {
    flags: '--interval <minutes>',
    help: 'between steps (default: 60)',
    field: 'step_interval_minutes',
    parse: 'number',
  },
  { flags: '--group <group>', help: 'only devices of this group, by name or id', field: 'group' },
  { flags: '--auto-rollback', help: 'too many failures roll it back', field: 'auto_rollback', parse: 'flag' },
  { flags: '--no-start', help: 'keep it pending until svc rollouts start', field: 'start_immediately', parse: 'off' },
]

/** Moves of a rollout that take a reason, and what they did to it. */
const move = (name: string, did: string, summary: string): Action => ({
  name,
  summary,
  request: `POST ${AT}/${name}`,
  args: [rollout],
  options: [reason],
  done: `${did} the rollout of version {version}: {status} at {percentage} % ({rollout_id}).`,
})

export const rollouts: Resource = {
  name: 'rollouts',
  summary: 'make rollouts and steer them',
  actions: [
    {
      name: 'list',
      summary: 'list rollouts, newest first',
      request: 'GET /api/v1/rollouts',
      options: [
        {
          flags: '--model <model>',
          help: 'of this model, by name or id',
          field: 'model_id',
          find: 'model',
          conflicts: 'status',
          request: 'GET /api/v1/models/{model_id}/rollouts',
        },
        {
          flags: '--status <status>',
          help: 'only those',
          field: 'status',
          choices: ['pending', 'active', 'paused', 'completed', 'rolled_back'],
        },
      ],
      rows: 'rollouts',
      columns: COLUMNS,
      none: 'No rollouts. Deploy with: svc deploy <model>',
    },
    { name: 'show', summary: 'show a rollout', request: `GET ${AT}`, args: [rollout] },
    {
      name: 'create',
      summary: 'make a rollout of a version',
      request: 'POST /api/v1/models/{model_id}/rollouts',
      args: [modelArgument],
      options: plan,
      done: 'Made the rollout of version {version}: {status} at {percentage} % ({rollout_id}).',
      hint: 'Watch it with: svc status {model_name} --watch',
    },
    {
      name: 'preview',
      summary: 'work out the steps of a rollout',
      request: 'POST /api/v1/models/{model_id}/rollouts/dry-run',
      args: [modelArgument],
      options: plan,
      rows: 'steps',
      columns: [
        ['AFTER MINUTES', 'after_minutes', 'count'],
        ['AT', 'percentage', 'percent'],
        ['DEVICES', 'devices', 'count'],
      ],
    },
    move('start', 'Started', 'start a pending rollout'),
    move('pause', 'Paused', 'pause a rollout'),
    move('resume', 'Resumed', 'resume a rollout'),
    move('advance', 'Advanced', 'take the next step now'),
    move('rollback', 'Rolled back', 'give its devices the version before'),
    {
      name: 'set-percentage',
      summary: 'set the percentage of a rollout',
      request: `PUT ${AT}/percentage`,
      args: [rollout, { name: 'percent', help: 'from 0 to 100', field: 'percentage', parse: 'number' }],
      done: 'The rollout of version {version} is {status} at {percentage} % ({rollout_id}).',
    },
    {
      name: 'history',
      summary: 'list what happened to a rollout',
      request: `GET ${AT}/history`,
      args: [rollout],
      rows: 'events',
      columns: [
        ['AT', 'at', 'time'],
        ['EVENT', 'event'],
        ['STATUS', 'status'],
        ['PERCENT', 'percentage', 'percent'],
        ['REASON', 'reason'],
        ['BY KEY', 'actor', 'id'],
      ],
    },
    {
      name: 'devices',
      summary: 'list the devices of a rollout by state',
      request: `GET ${AT}/devices`,
      args: [rollout],
      rows: 'devices',
      columns: [
        ['DEVICE', 'device_id'],
        ['STATE', 'state'],
        ['VERSION', 'version'],
        ['REPORTED', 'reported_at', 'time'],
        ['REASON', 'reason'],
      ],
      none: 'It reaches no device yet.',
    },
    {
      name: 'delete',
      summary: 'cancel and delete a rollout',
      request: `DELETE ${AT}`,
      args: [rollout],
      confirm: 'Deleting the rollout {rollout}, whose devices get what they got before,',
      done: 'Deleted rollout {rollout_id}.',
    },
  ],
}
