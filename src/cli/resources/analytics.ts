import type { Action, ActionOption, Argument, Resource } from './resource.ts'

const federation: Argument = { name: 'federation', help: 'a federation, by name or id', find: 'federation' }
const variable: Argument = { name: 'variable', help: 'what devices report, such as accuracy', field: 'variable' }
const AT = '/api/v1/federations/{federation_id}'

const filters: ActionOption = {
  flags: '--filter <key=value>',
  help: 'such as platform=ios or start_time=2026-01-01T00:00:00Z; repeatable',
  field: 'filters',
  parse: 'pairs',
}
const groupBy: ActionOption = {
  flags: '--group-by <kind>',
  help: 'what the groups are (default: device_group)',
  field: 'group_by',
  choices: ['device_group', 'federation_member'],
}
const groupIds: ActionOption = {
  flags: '--group <id>',
  help: 'only these groups; repeatable',
  field: 'group_ids',
  parse: 'each',
}
const confidence: ActionOption = {
  flags: '--confidence <level>',
  help: 'such as 0.95',
  field: 'confidence_level',
  parse: 'number',
}

export const analytics: Resource = {
  name: 'analytics',
  summary: 'compare statistics over a federation',
  actions: [
    {
      name: 'list',
      summary: 'list analytics queries, newest first',
      request: `GET ${AT}/analytics/queries`,
      args: [federation],
      rows: 'queries',
      columns: [
        ['TYPE', 'query_type'],
        ['VARIABLE', 'variable'],
        ['STATUS', 'status'],
        ['CREATED', 'created_at', 'time'],
        ['REASON', 'reason'],
        ['ID', 'id', 'id'],
      ],
      none: 'Nothing was asked yet. Ask with: svc analytics describe <federation> <variable>',
    },
    {
      name: 'show',
      summary: 'show a query and its result',
      request: `GET ${AT}/analytics/queries/{query_id}`,
      args: [federation, { name: 'query', help: 'the id of a query', field: 'query_id' }],
    },
    {
      name: 'describe',
      summary: 'describe a variable by group',
      request: `POST ${AT}/analytics/descriptive`,
      args: [federation, variable],
      options: [
        groupBy,
        groupIds,
        { flags: '--no-percentiles', help: 'leave them out', field: 'include_percentiles', parse: 'off' },
        filters,
      ],
    },
    {
      name: 't-test',
      summary: "compare two groups by Welch's t-test",
      request: `POST ${AT}/analytics/t-test`,
      args: [
        federation,
        variable,
        { name: 'group_a', help: 'id of a group', field: 'group_a' },
        { name: 'group_b', help: 'id of the other', field: 'group_b' },
      ],
      options: [groupBy, confidence, filters],
    },
    {
      name: 'anova',
      summary: 'compare groups by analysis of variance',
      request: `POST ${AT}/analytics/anova`,
      args: [federation, variable],
      options: [
        groupBy,
        groupIds,
        { flags: '--post-hoc', help: 'compare every pair too', field: 'post_hoc', parse: 'flag' },
        confidence,
        filters,
      ],
    },
    {
      name: 'chi-square',
      summary: 'test two variables for independence',
      request: `POST ${AT}/analytics/chi-square`,
      args: [
        federation,
        { name: 'variable_1', help: 'a variable', field: 'variable_1' },
        { name: 'variable_2', help: 'another', field: 'variable_2' },
      ],
      options: [confidence, filters],
    },
  ],
}

/** Commands of `svc federation` beside those with files of their own. */
export const federationActions: readonly Action[] = [
  {
    name: 'remove',
    summary: 'leave a federation or remove a member',
    request: `DELETE ${AT}/members/{org_id}`,
    args: [federation, { name: 'org_id', help: 'the organization', field: 'org_id' }],
    confirm: 'Removing {org_id} from {federation}',
    done: '{message}',
  },
  {
    name: 'models',
    summary: 'list models shared with a federation',
    request: `GET ${AT}/models`,
    args: [federation],
    rows: 'models',
    columns: [
      ['MODEL', (row) => row.name ?? row.model_id],
      ['OWNER', 'org_id'],
      ['VERSION', 'latest_version', 'count'],
      ['FRAMEWORK', 'framework'],
      ['ACCURACY', 'accuracy', 'share'],
      ['LOSS', 'loss', 'figure'],
      ['SHARED', 'shared_at', 'time'],
    ],
    none: 'No models are shared. Share one with: svc federation share <model> <federation>',
  },
  {
    name: 'unshare',
    summary: 'stop sharing a model',
    request: `DELETE ${AT}/models/{model_id}`,
    args: [{ name: 'model', help: 'a model, by name or id', find: 'model' }, federation],
    done: '{message}',
  },
  {
    name: 'noise',
    summary: 'get the least noise that fits an epsilon',
    request: `GET ${AT}/privacy/noise-for-epsilon`,
    args: [federation],
    options: [
      {
        flags: '--sample-rate <rate>',
        help: 'target devices / eligible devices',
        field: 'sample_rate',
        parse: 'number',
        required: true,
      },
      { flags: '--rounds <count>', help: 'how many (default: 1)', field: 'num_steps', parse: 'number' },
      { flags: '--target-epsilon <epsilon>', help: 'default: the budget', field: 'target_epsilon', parse: 'number' },
      { flags: '--target-delta <delta>', help: "default: the budget's", field: 'target_delta', parse: 'number' },
    ],
  },
  {
    name: 'rounds-left',
    summary: 'get the number of private rounds left',
    request: `GET ${AT}/privacy/rounds-left`,
    args: [federation],
    options: [
      {
        flags: '--noise-multiplier <ratio>',
        help: 'of each round',
        field: 'noise_multiplier',
        parse: 'number',
        required: true,
      },
      {
        flags: '--sample-rate <rate>',
        help: 'target devices / eligible devices',
        field: 'sample_rate',
        parse: 'number',
        required: true,
      },
      { flags: '--steps <count>', help: 'of a round (default: 1)', field: 'num_steps', parse: 'number' },
      { flags: '--target-delta <delta>', help: "default: the budget's", field: 'target_delta', parse: 'number' },
    ],
  },
]
