import type { Resource } from './resource.ts'
import { modelArgument } from './rollouts.ts'

const AT = '/api/v1/models/{model_id}/policy'

export const policies: Resource = {
  name: 'policies',
  summary: "let a round's result become a rollout by rules",
  actions: [
    {
      name: 'list',
      summary: 'list policies, newest first',
      request: 'GET /api/v1/policies',
      rows: 'policies',
      paged: false,
      columns: [
        ['MODEL', (row) => row.model_name ?? row.model_id],
        ['ENABLED', (row) => (row.enabled === true ? 'yes' : 'no')],
        ['CANARY', 'canary_percentage', 'percent'],
        ['MINUTES', 'observe_minutes', 'count'],
        ['REPORTS', 'min_reports', 'count'],
        ['ACCURACY DROP', 'max_accuracy_drop', 'share'],
        ['LOSS INCREASE', 'max_loss_increase', 'share'],
        ['UPDATED', 'updated_at', 'time'],
      ],
      none: 'No policies. Make one with: svc policies set <model>',
    },
    { name: 'show', summary: "show a model's policy", request: `GET ${AT}`, args: [modelArgument] },
    {
      name: 'set',
      summary: "make or replace a model's policy",
      request: `PUT ${AT}`,
      args: [modelArgument],
      options: [
        {
          flags: '--enable',
          help: 'act by it from now on; without it nothing happens by itself',
          field: 'enabled',
          parse: 'flag',
        },
        {
          flags: '--canary <percent>',
          help: 'of the devices that try a version (default: 10)',
          field: 'canary_percentage',
          parse: 'number',
        },
        { flags: '--canary-group <group>', help: 'only devices of this group, by name or id', field: 'canary_group' },
        {
          flags: '--observe <minutes>',
          help: 'how long it may take (default: 60)',
          field: 'observe_minutes',
          parse: 'number',
        },
        {
          flags: '--min-reports <count>',
          help: 'devices that must have measured (default: 20)',
          field: 'min_reports',
          parse: 'number',
        },
        {
          flags: '--max-accuracy-drop <share>',
          help: 'how much lower it may be (default: 0.02)',
          field: 'max_accuracy_drop',
          parse: 'number',
        },
        {
          flags: '--max-loss-increase <share>',
          help: 'how much higher it may be (default: 0.05)',
          field: 'max_loss_increase',
          parse: 'number',
        },
        {
          flags: '--confidence <level>',
          help: 'of the comparison (default: 0.95)',
          field: 'confidence_level',
          parse: 'number',
        },
        { flags: '--step <percent>', help: "the promotion's (default: 10)", field: 'increment_step', parse: 'number' },
        {
          flags: '--interval <minutes>',
          help: 'between steps (default: 60)',
          field: 'step_interval_minutes',
          parse: 'number',
        },
      ],
      done: 'The policy of model {model_id} is set; enabled: {enabled}.',
    },
    {
      name: 'delete',
      summary: "delete a model's policy and its decisions",
      request: `DELETE ${AT}`,
      args: [modelArgument],
      confirm: 'Deleting the policy of {model} with its decisions',
      done: 'Deleted the policy of model {model_id}.',
    },
    {
      name: 'decisions',
      summary: 'list what a policy decided and why',
      request: `GET ${AT}/decisions`,
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
      none: 'It has decided nothing yet.',
    },
  ],
}
