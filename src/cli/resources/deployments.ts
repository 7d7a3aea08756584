import type { Argument, Resource } from './resource.ts'

const deployment: Argument = {
  name: 'deployment',
  help: 'a deployment, by id (its first characters will do); the name of a model: its newest',
  find: 'deployment',
}
const AT = '/api/v1/deployments/{deployment_id}'

export const deployments: Resource = {
  name: 'deployments',
  summary: 'see deployments and steer them; svc deploy makes them',
  actions: [
    {
      name: 'list',
      summary: 'list deployments, newest first',
      request: 'GET /api/v1/deployments',
      options: [
        { flags: '--model <model>', help: 'of this model, by the name that was deployed', field: 'model_name' },
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
    },
    { name: 'show', summary: 'show a deployment', request: `GET ${AT}`, args: [deployment] },
    {
      name: 'promote',
      summary: 'activate more targets of a deployment',
      request: `POST ${AT}/promote`,
      args: [deployment, { name: 'percent', help: 'of its targets', field: 'rollout_percentage', parse: 'number' }],
      done: 'The deployment of {model_name} {model_version} is {status} at {rollout_percentage} %.',
    },
    {
      name: 'rollback',
      summary: 'give its devices the version before',
      request: `POST ${AT}/rollback`,
      args: [deployment],
      options: [{ flags: '--reason <text>', help: 'kept in its history', field: 'reason' }],
      done: 'Rolled back the deployment of {model_name} {model_version} ({deployment_id}).',
    },
    {
      name: 'history',
      summary: 'list what happened to a deployment',
      request: `GET ${AT}/history`,
      args: [deployment],
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
      summary: 'list the devices of a deployment by state',
      request: `GET ${AT}/devices`,
      args: [deployment],
      rows: 'devices',
      columns: [
        ['DEVICE', 'device_id'],
        ['STATE', 'state'],
        ['VERSION', 'version'],
        ['REPORTED', 'reported_at', 'time'],
        ['REASON', 'reason'],
      ],
    },
  ],
}
