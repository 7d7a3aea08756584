import { action, argument, option, type Resource } from './resource.ts'

const federation = argument('federation', 'a federation, by name or id', { find: 'federation' })
const variable = argument('variable', 'what devices report, such as accuracy', { field: 'variable' })
const AT = '/api/v1/federations/{federation_id}'

const filters = option(
  '--filter <key=value>',
  'filter, such as platform=ios or start_time=2026-01-01T00:00:00Z; repeatable',
  'filters',
  'pairs',
)
const groupBy = option('--group-by <kind>', 'kind of group (default: device_group)', 'group_by', {
  choices: ['device_group', 'federation_member'],
})
const groupIds = option('--group <group>', 'only these groups, by name or id; repeatable', 'group_ids', 'each')
const confidence = option('--confidence <level>', 'confidence level (default: 0.95)', 'confidence_level', 'number')

export const analytics: Resource = {
  name: 'analytics',
  summary: 'compute statistics over a federation',
  actions: [
    action('list', 'list analytics queries, newest first', `GET ${AT}/analytics/queries`, {
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
      none: 'No queries. Run one with: svc analytics describe <federation> <variable>',
    }),
    action('show', 'show a query and its result', `GET ${AT}/analytics/queries/{query_id}`, {
      args: [federation, argument('query', 'the id of a query', { field: 'query_id' })],
    }),
    action('describe', 'describe a variable by group', `POST ${AT}/analytics/descriptive`, {
      args: [federation, variable],
      options: [
        groupBy,
        groupIds,
        option('--no-percentiles', 'omit percentiles', 'include_percentiles', 'off'),
        filters,
      ],
    }),
    action('t-test', "compare two groups by Welch's t-test", `POST ${AT}/analytics/t-test`, {
      args: [
        federation,
        variable,
        argument('group_a', 'a group, by name or id', { field: 'group_a' }),
        argument('group_b', 'the other group, by name or id', { field: 'group_b' }),
      ],
      options: [groupBy, confidence, filters],
    }),
    action('anova', 'compare groups by analysis of variance', `POST ${AT}/analytics/anova`, {
      args: [federation, variable],
      options: [
        groupBy,
        groupIds,
        option('--no-post-hoc', 'do not compare pairs', 'post_hoc', 'off'),
        confidence,
        filters,
      ],
    }),
    action('chi-square', 'test two variables for independence', `POST ${AT}/analytics/chi-square`, {
      args: [
        federation,
        argument('variable_1', 'a variable', { field: 'variable_1' }),
        argument('variable_2', 'another variable', { field: 'variable_2' }),
      ],
      options: [confidence, filters],
    }),
  ],
}
