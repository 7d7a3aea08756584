import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import {
  CreatedIntegration,
  DeadLetterList,
  Integration,
  IntegrationKindBody,
  IntegrationList,
  IntegrationParams,
  IntegrationQuery,
  IntegrationTest,
  NewIntegration,
  Redelivery,
} from './integrations.schema.ts'
import type { DeadLetter, Integrations, IntegrationView } from './integrations.service.ts'

const AT = '/api/v1/integrations/:integration_id'
const ONE = { access: 'admin', errors: ['not_found'] } as const satisfies RouteConfig

export const integrationsRoutes = (app: App, integrations: Integrations): void => {
  app.post(
    '/api/v1/integrations',
    {
      schema: {
        operationId: 'createIntegration',
        summary: 'Create an integration',
        description: "Send the organization's events (logs), metrics, or training runs to a receiver, starting now.",
        body: NewIntegration,
        response: { 201: CreatedIntegration },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { kind, type, name, endpoint, format, topics, config = {} } = request.body
      const requested = { kind, type, name, endpoint, format, topics, config }
      const created = await integrations.create(callerOf(request), requested)
      return reply.code(201).send({ ...present(created.integration), secret: created.secret })
    },
  )

  app.get(
    '/api/v1/integrations',
    {
      schema: {
        operationId: 'listIntegrations',
        summary: 'List integrations',
        querystring: IntegrationQuery,
        response: { 200: IntegrationList },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => ({
      integrations: (await integrations.list(callerOf(request), request.query.kind ?? null)).map(present),
    }),
  )

  app.get(
    AT,
    {
      schema: {
        operationId: 'getIntegration',
        summary: 'Get an integration',
        params: IntegrationParams,
        response: { 200: Integration },
      },
      config: ONE,
    },
    async (request) => present(await integrations.show(callerOf(request), request.params.integration_id)),
  )

  app.delete(
    AT,
    {
      schema: {
        operationId: 'deleteIntegration',
        summary: 'Delete an integration',
        description: 'Also deletes its queued events and dead letters.',
        params: IntegrationParams,
        body: optionalBody(IntegrationKindBody),
        response: { 200: Integration },
      },
      config: ONE,
    },
    async (request) => {
      const { integration_id: id } = request.params
      return present(await integrations.delete(callerOf(request), id, request.body?.kind))
    },
  )
}

/** Routes for actions on one of them. */
export const integrationActionsRoutes = (app: App, integrations: Integrations): void => {
  for (const [action, summary, isPaused] of [
    ['pause', 'Pause an integration', true],
    ['resume', 'Resume an integration', false],
  ] as const) {
    app.post(
      `${AT}/${action}`,
      {
        schema: {
          operationId: `${action}Integration`,
          summary,
          description:
            'While an integration is paused, events are kept for up to 24 hours; audit entries and training runs are sent from where they stopped.',
          params: IntegrationParams,
          response: { 200: Integration },
        },
        config: ONE,
      },
      async (request) =>
        present(await integrations.setPaused(callerOf(request), request.params.integration_id, isPaused)),
    )
  }

  app.post(
    `${AT}/test`,
    {
      schema: {
        operationId: 'testIntegration',
        summary: 'Send a sample to an integration',
        description:
          "Returns the receiver's response, or an error after 10 seconds (25 for MLflow, which takes several requests).",
        params: IntegrationParams,
        body: optionalBody(IntegrationKindBody),
        response: { 200: IntegrationTest },
      },
      config: ONE,
    },
    async (request) => {
      const { integration_id: id } = request.params
      const outcome = await integrations.test(callerOf(request), id, request.body?.kind)
      const { ok, status, response, milliseconds } = outcome
      return { ok, status, response, milliseconds }
    },
  )

  app.get(
    `${AT}/dead-letters`,
    {
      schema: {
        operationId: 'listDeadLetters',
        summary: 'List the dead letters of an integration',
        description: 'Events that the receiver rejected permanently, oldest first, at most 1,000.',
        params: IntegrationParams,
        response: { 200: DeadLetterList },
      },
      config: ONE,
    },
    async (request) => ({
      dead_letters: (await integrations.deadLetters(callerOf(request), request.params.integration_id)).map(
        presentLetter,
      ),
    }),
  )

  app.post(
    `${AT}/replay`,
    {
      schema: {
        operationId: 'replayDeadLetters',
        summary: 'Send dead letters again',
        description: 'Up to 100 of them, oldest first, until one is rejected again.',
        params: IntegrationParams,
        response: { 200: Redelivery },
      },
      config: ONE,
    },
    async (request) => integrations.replay(callerOf(request), request.params.integration_id),
  )
}

const statusOf = ({ isPaused, failures }: IntegrationView): 'active' | 'paused' | 'failing' =>
  isPaused ? 'paused' : failures > 0 ? 'failing' : 'active'

const present = (integration: IntegrationView) => ({
  id: integration.id,
  org_id: integration.orgId,
  kind: integration.kind,
  type: integration.type,
  name: integration.name,
  endpoint: integration.endpoint,
  format: integration.format,
  topics: integration.topics === null ? null : [...integration.topics],
  config: { ...integration.visibleConfig },
  status: statusOf(integration),
  pending: integration.backlog.pending,
  oldest_pending_at: integration.backlog.oldest?.toISOString() ?? null,
  dead_letters: integration.backlog.deadLetters,
  failures: integration.failures,
  last_error: integration.lastError,
  last_error_at: integration.lastErrorAt?.toISOString() ?? null,
  delivered_at: integration.deliveredAt?.toISOString() ?? null,
  created_at: integration.createdAt.toISOString(),
})

const presentLetter = ({ id, event, reason, at }: DeadLetter) => ({
  id,
  type: event.type,
  event: { ...event },
  reason,
  at: at.toISOString(),
})
