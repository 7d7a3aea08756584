import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import {
  CreateFederationBody,
  Federation,
  FederationList,
  FederationParams,
  ListFederationsQuery,
} from './federations.schema.ts'
import type { FederationsService, ListedFederation } from './federations.service.ts'
import { membersRoutes } from './members.routes.ts'
import type { MembersService } from './members.service.ts'
import { privacyRoutes } from './privacy.routes.ts'
import type { PrivacyService } from './privacy.service.ts'
import { privacyForecastsRoutes } from './privacy-forecasts.routes.ts'
import type { PrivacyForecasts } from './privacy-forecasts.service.ts'
import { sharedModelsRoutes } from './shared-models.routes.ts'
import type { SharedModelsService } from './shared-models.service.ts'

interface FederationServices {
  readonly federations: FederationsService
  readonly members: MembersService
  readonly sharedModels: SharedModelsService
  readonly privacy: PrivacyService
  readonly forecasts: PrivacyForecasts
}

export const federationsRoutes = (
  app: App,
  { federations, members, sharedModels, privacy, forecasts }: FederationServices,
): void => {
  app.post(
    '/api/v1/federations',
    {
      schema: {
        operationId: 'createFederation',
        summary: 'Create a federation',
        description: 'Create a federation, owned by the named organization.',
        body: CreateFederationBody,
        response: { 201: Federation },
      },
      config: { access: 'training:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, org_id, description } = request.body
      const requested = { name, orgId: org_id, description: description ?? '' }
      return reply.code(201).send(present(await federations.create(callerOf(request), requested)))
    },
  )

  app.get(
    '/api/v1/federations',
    {
      schema: {
        operationId: 'listFederations',
        summary: 'List federations',
        description: 'List federations, newest first.',
        querystring: ListFederationsQuery,
        response: { 200: FederationList },
      },
      config: { access: 'training:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id, name, limit, offset } = request.query
      const found = await federations.list(callerOf(request), { orgId: org_id, name }, { limit, offset })
      return { federations: found.federations.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/federations/:federation_id',
    {
      schema: {
        operationId: 'getFederation',
        summary: 'Get a federation',
        description: 'Visible to members and to invited organizations.',
        params: FederationParams,
        response: { 200: Federation },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await federations.get(callerOf(request), request.params.federation_id)),
  )

  /** Returns 404 for what does not exist before any other check; `owned` then checks ownership, for routes that need it. */
  const visible: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await federations.get(callerOf(request), (request.params as { federation_id: string }).federation_id)
  }
  const owned: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await federations.getAsOwner(callerOf(request), (request.params as { federation_id: string }).federation_id)
  }
  membersRoutes(app, members, { visible, owned })
  sharedModelsRoutes(app, sharedModels, { visible, owned })
  privacyRoutes(app, privacy, { visible, owned })
  privacyForecastsRoutes(app, forecasts, { visible, owned })
}

const present = ({ federation, membership }: ListedFederation) => ({
  id: federation.id,
  name: federation.name,
  description: federation.description,
  org_id: federation.orgId,
  status: federation.status,
  member_count: federation.memberCount,
  created_at: federation.createdAt.toISOString(),
  membership,
})
