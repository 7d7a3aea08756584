import { action, option, type Resource } from './resource.ts'
import { modelArgument } from './rollouts.ts'

const AT = '/api/v1/models/{model_id}/policy'

const enabledWords = ({ enabled, warnings }: Readonly<Record<string, unknown>>): string => {
  if (enabled !== true) return 'no'
  return Array.isArray(warnings) && warnings.length > 0 ? 'yes, with a warning' : 'yes'
}

export const policies: Resource = {
  name: 'policies',
  summary: 'roll out round results automatically',
  actions: [
    action('list', 'list policies, newest first', 'GET /api/v1/policies', {
      rows: 'policies',
      paged: false,
      columns: [
        ['MODEL', (row) => row.model_name ?? row.model_id],
        ['ENABLED', enabledWords],
        ['CANARY', 'canary_percentage', 'percent'],
        ['MINUTES', 'observe_minutes', 'count'],
        ['REPORTS', 'min_reports', 'count'],
        ['ACCURACY DROP', 'max_accuracy_drop', 'share'],
        ['LOSS INCREASE', 'max_loss_increase', 'share'],
        ['UPDATED', 'updated_at', 'time'],
      ],
      none: 'No policies. Set one with: svc policies set <model>',
    }),
    action('show', "show a model's policy", `GET ${AT}`, { args: [modelArgument] }),
    action('set', "set or replace a model's policy", `PUT ${AT}`, {
      args: [modelArgument],
      options: [
        option('--enable', 'enable the policy; without this option it is stored but not applied', 'enabled', 'flag'),
        option(
          '--canary <percent>',
          'percentage of devices in the canary (default: 10)',
          'canary_percentage',
          'number',
        ),
        option('--canary-group <group>', 'only devices of this group, by name or id', 'canary_group'),
        option(
          '--observe <minutes>',
          'maximum duration of the canary in minutes (default: 60)',
          'observe_minutes',
          'number',
        ),
        option('--min-reports <count>', 'minimum number of reporting devices (default: 20)', 'min_reports', 'number'),
        option(
          '--max-accuracy-drop <share>',
          'maximum drop of the mean accuracy (default: 0.02)',
          'max_accuracy_drop',
          'number',
        ),
        option(
          '--max-loss-increase <share>',
          'maximum relative increase of the mean loss (default: 0.05)',
          'max_loss_increase',
          'number',
        ),
        option(
          '--metric-margin <key=value>',
          'another metric and how much worse its mean may be, such as f1=0.02; repeatable',
          'metric_margins',
          'pairs',
        ),
        option(
          '--confidence <level>',
          'confidence level of the comparison (default: 0.95)',
          'confidence_level',
          'number',
        ),
        option('--step <percent>', 'increase at each step of the promotion (default: 10)', 'increment_step', 'number'),
        option('--interval <minutes>', 'minutes between steps (default: 60)', 'step_interval_minutes', 'number'),
      ],
      done: 'The policy is set; enabled: {enabled}.',
    }),
    action('delete', "delete a model's policy and its decisions", `DELETE ${AT}`, {
      args: [modelArgument],
      confirm: 'Deleting the policy of {model} with its decisions',
      done: 'Deleted the policy.',
    }),
    action('decisions', 'list the decisions of a policy', `GET ${AT}/decisions`, {
      args: [modelArgument],
      rows: 'decisions',
      columns: [
        ['ROUND', 'round_number', 'count'],
        ['VERSION', 'version'],
        ['STATUS', 'status'],
        ['DECIDED', 'decided_at', 'time'],
        ['REASON', 'reason'],
        ['ID', 'id', 'id'],
      ],
      none: 'No decisions yet.',
    }),
  ],
}
