import { Type } from 'typebox'
import {
  INTEGRATION_KINDS,
  INTEGRATION_TOPICS,
  INTEGRATION_TYPES,
  type IntegrationType,
  LOG_FORMATS,
} from '../../../domain/integration.ts'
import { Body, Count, Line, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../operations.examples.ts'

const Kind = OneOf(INTEGRATION_KINDS, { title: 'IntegrationKind', description: 'Kind of data that is sent' })
const TypeName = OneOf(Object.keys(INTEGRATION_TYPES) as IntegrationType[], {
  title: 'IntegrationType',
  description:
    'prometheus, opentelemetry, datadog, and statsd take metrics; otlp, webhook, splunk, elasticsearch, and syslog take logs; mlflow takes training',
})
const Format = OneOf(LOG_FORMATS, { title: 'LogFormat', description: 'Encoding of events' })

const Topics = Type.Array(OneOf(INTEGRATION_TOPICS, { title: 'IntegrationTopic' }), {
  minItems: 1,
  maxItems: INTEGRATION_TOPICS.length,
  uniqueItems: true,
  description: 'Topics of the event stream (default: all) and audit log entries that a log integration receives',
})

export const NewIntegration = Body(
  'NewIntegration',
  'A receiver of metrics, logs, or training runs',
  examples.newIntegration,
  {
    kind: Type.Optional(Kind),
    type: TypeName,
    name: Type.Optional(Line(128, 'Unique in the organization. Default: the type, with a number if it is taken')),
    endpoint: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: 'Address of the receiver; optional for datadog' }),
    ),
    format: Type.Optional(Format),
    topics: Type.Optional(Topics),
    config: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: 16,
        description:
          'By type: username, password, bearer_token, and headers; datadog: api_key; splunk: token; webhook: secret; elasticsearch: api_key, index; statsd: prefix; mlflow: experiment. Stored encrypted',
      }),
    ),
  },
)

const fields = {
  id: Uuid,
  org_id: Nullable(Type.String()),
  kind: Kind,
  type: TypeName,
  name: Type.String(),
  endpoint: Type.String(),
  format: Nullable(Format),
  topics: Nullable(Topics),
  config: Type.Record(Type.String(), Type.String(), { description: 'Secrets are masked' }),
  status: OneOf(['active', 'paused', 'failing']),
  pending: Type.Integer({ minimum: 0, description: 'Events, or jobs and rounds, that are waiting to be delivered' }),
  oldest_pending_at: Nullable(Timestamp),
  dead_letters: Type.Integer({ minimum: 0, description: 'Events that the receiver rejected permanently' }),
  failures: Type.Integer({ minimum: 0, description: 'Consecutive failed deliveries' }),
  last_error: Nullable(Type.String()),
  last_error_at: Nullable(Timestamp),
  delivered_at: Nullable(Timestamp),
  created_at: Timestamp,
}

export const Integration = Body(
  'Integration',
  'A receiver of metrics, logs, or training runs',
  examples.integration,
  fields,
)
export const CreatedIntegration = Body(
  'CreatedIntegration',
  'A new integration; a webhook includes its secret',
  examples.createdIntegration,
  {
    ...fields,
    secret: Nullable(Type.String({ description: 'Key that verifies the signatures of a webhook; shown only once' })),
  },
)
export const IntegrationList = Body('IntegrationList', 'Integrations', examples.integrationList, {
  integrations: Type.Array(Integration),
})
export const IntegrationTest = Body(
  'IntegrationTest',
  "The receiver's response to a sample",
  examples.integrationTest,
  {
    ok: Type.Boolean(),
    status: Nullable(Type.Integer({ description: 'HTTP status; null if there was no response' })),
    response: Type.String({
      description: 'First 500 characters of the response, or why the receiver could not be reached',
    }),
    milliseconds: Count,
  },
)
export const DeadLetterList = Body(
  'DeadLetterList',
  'Events that the receiver rejected permanently',
  examples.deadLetterList,
  {
    dead_letters: Type.Array(
      Part('DeadLetter', 'An event that the receiver rejected permanently', {
        id: Type.Integer(),
        type: Type.String(),
        event: Type.Record(Type.String(), Type.Unknown()),
        reason: Type.String(),
        at: Timestamp,
      }),
    ),
  },
)
export const Redelivery = Body('Redelivery', 'The result of sending dead letters again', examples.redelivery, {
  delivered: Count,
  remaining: Count,
  error: Nullable(Type.String({ description: 'Why the next event was rejected again' })),
})

export const IntegrationParams = Type.Object({ integration_id: Type.String() })
export const IntegrationKindBody = Body(
  'IntegrationOfKind',
  'The expected kind of the integration',
  { kind: 'logs' },
  {
    kind: Type.Optional(OneOf(INTEGRATION_KINDS, { description: 'Rejected if the integration is of another kind' })),
  },
)
export const IntegrationQuery = Type.Object({ kind: Type.Optional(OneOf(INTEGRATION_KINDS)) })
