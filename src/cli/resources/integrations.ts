import { INTEGRATION_KINDS, INTEGRATION_TYPES, LOG_FORMATS } from '../../domain/integration.ts'
import { entry } from '../command.ts'
import { Failure } from '../failure.ts'
import { type ActionOption, action, argument, option, type Resource } from './resource.ts'

const AT = '/api/v1/integrations/{integration_id}'
const integration = argument('integration', 'an integration, by name or id', { find: 'integration' })
const KIND: ActionOption = option('--kind <kind>', 'fail unless it is of this kind', 'kind', {
  choices: INTEGRATION_KINDS,
})

export const integrations: Resource = {
  name: 'integrations',
  summary: 'send events and metrics to other systems',
  actions: [
    action('list', 'list integrations', 'GET /api/v1/integrations', {
      options: [
        option('--kind <kind>', 'only integrations of this kind (default: all)', 'kind', {
          choices: [...INTEGRATION_KINDS, 'all'],
        }),
      ],
      body: async ({ kind }) => ({ kind: kind === 'all' ? undefined : kind }),
      rows: 'integrations',
      paged: false,
      columns: [
        ['NAME', 'name'],
        ['KIND', 'kind'],
        ['TYPE', 'type'],
        ['STATUS', 'status'],
        ['PENDING', 'pending', 'count'],
        ['DEAD LETTERS', 'dead_letters', 'count'],
        ['DELIVERED', 'delivered_at', 'ago'],
        ['ENDPOINT', 'endpoint'],
        ['ID', 'id', 'id'],
      ],
      none: 'No integrations. Create one with: svc integrations create --kind logs --type webhook --endpoint <url>',
    }),
    action('show', 'show an integration', `GET ${AT}`, { args: [integration] }),
    action('create', 'create an integration', 'POST /api/v1/integrations', {
      options: [
        option('--kind <kind>', "what to send (default: the type's)", 'kind', { choices: INTEGRATION_KINDS }),
        option('--type <type>', 'receiver', 'type', { choices: Object.keys(INTEGRATION_TYPES), required: true }),
        option('--name <name>', 'name (default: the type)', 'name'),
        option('--endpoint <url>', "the receiver's address", 'endpoint'),
        option('--format <format>', 'event format (default: depends on the type)', 'format', { choices: LOG_FORMATS }),
        option(
          '--topic <topic>',
          'only events of this topic, or audit for the audit log; repeatable (default: all events)',
          'topics',
          'each',
        ),
        option('--config-json <json>', 'settings, such as \'{"token": "..."}\'', 'config', 'json'),
      ],
      hint: 'Check it with: svc integrations test {id}',
      notes: async ({ secret }) => (secret === null ? [] : ['Save the secret now: it is not shown again.']),
    }),
    action('test', "send a sample and show the receiver's response", `POST ${AT}/test`, {
      args: [integration],
      options: [KIND],
      failure: ({ ok, status, response }) =>
        ok === true
          ? null
          : new Failure(
              `The receiver did not accept the sample${status === null ? '' : ` (HTTP ${status})`}: ${String(response).trim() || 'its response is empty.'}`,
            ),
    }),
    action('pause', 'pause an integration', `POST ${AT}/pause`, { args: [integration], done: 'Paused {name} ({id}).' }),
    action('resume', 'resume an integration', `POST ${AT}/resume`, {
      args: [integration],
      done: 'Resumed {name} ({id}).',
    }),
    action('dead-letters', 'list events that the receiver rejected permanently', `GET ${AT}/dead-letters`, {
      args: [integration],
      rows: 'dead_letters',
      paged: false,
      columns: [
        ['ID', 'id'],
        ['EVENT', 'type'],
        ['AT', 'at', 'time'],
        ['REASON', 'reason'],
      ],
      none: 'No dead letters.',
    }),
    action('replay', 'send dead letters again', `POST ${AT}/replay`, { args: [integration] }),
    action('delete', 'delete an integration', `DELETE ${AT}`, {
      args: [integration],
      options: [KIND],
      confirm: 'Deleting the integration {integration}',
      done: 'Deleted {name} ({id}).',
    }),
    entry(
      'connect-otlp',
      'send metrics and logs to an OpenTelemetry Collector',
      () => import('./connect-otlp.command.ts'),
    ),
  ],
}
