import { action, argument, HISTORY_COLUMNS, option, PLAN_DEVICE_COLUMNS, type Resource } from './resource.ts'

const deployment = argument(
  'deployment',
  'a deployment, by id or its first characters; for a model, its newest deployment',
  { find: 'deployment' },
)
const AT = '/api/v1/deployments/{deployment_id}'

export const deployments: Resource = {
  name: 'deployments',
  summary: 'inspect and control deployments',
  actions: [
    action('list', 'list deployments, newest first', 'GET /api/v1/deployments', {
      options: [
        option('--model <model>', 'only deployments of this model, by the name it was deployed under', 'model_name'),
      ],
      rows: 'deployments',
      columns: [
        ['MODEL', 'model_name'],
        ['VERSION', 'model_version'],
        ['STATUS', 'status'],
        ['STRATEGY', 'strategy'],
        ['AT', 'rollout_percentage', 'percent'],
        ['ACTIVE', (row) => `${row.activated_count}/${row.target_count}`],
        ['CREATED', 'created_at', 'time'],
        ['REASON', 'reason'],
        ['ID', 'deployment_id', 'id'],
      ],
      none: 'No deployments. Deploy with: svc deploy <model> --devices <ids>',
    }),
    action('show', 'show a deployment', `GET ${AT}`, { args: [deployment] }),
    action('promote', 'activate more targets of a deployment', `POST ${AT}/promote`, {
      args: [
        deployment,
        argument('percent', 'percentage of its targets', { field: 'rollout_percentage', parse: 'number' }),
      ],
      done: 'The deployment of {model_name} {model_version} is {status} at {rollout_percentage}%.',
    }),
    action('rollback', 'roll back a deployment', `POST ${AT}/rollback`, {
      args: [deployment],
      options: [option('--reason <text>', 'stored in its history', 'reason')],
      done: 'Rolled back the deployment of {model_name} {model_version} ({deployment_id}).',
    }),
    action('history', 'list the events of a deployment', `GET ${AT}/history`, {
      args: [deployment],
      rows: 'events',
      columns: HISTORY_COLUMNS,
    }),
    action('devices', 'list the devices of a deployment by state', `GET ${AT}/devices`, {
      args: [deployment],
      rows: 'devices',
      columns: PLAN_DEVICE_COLUMNS,
    }),
  ],
}
