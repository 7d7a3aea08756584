import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import {
  FederationParams,
  PageQuery,
  ShareBody,
  SharedModel as SharedModelBody,
  SharedModelList,
  SharedModelParams,
  Unshared,
} from './federations.schema.ts'
import type { Checks } from './members.routes.ts'
import type { SharedModel, SharedModelsService } from './shared-models.service.ts'

export const sharedModelsRoutes = (app: App, sharedModels: SharedModelsService, { visible, owned }: Checks): void => {
  app.post(
    '/api/v1/federations/:federation_id/models',
    {
      schema: {
        operationId: 'shareModel',
        summary: 'Share a model with a federation',
        description: 'Let all active members read a model. Only the owner of the federation may share.',
        params: FederationParams,
        body: ShareBody,
        response: { 201: SharedModelBody },
      },
      config: { access: 'training:write', errors: ['not_found'], beforeInvalid: owned } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { federation_id } = request.params
      const shared = await sharedModels.share(callerOf(request), federation_id, request.body.model_id)
      return reply.code(201).send(present(federation_id, shared))
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/models',
    {
      schema: {
        operationId: 'listSharedModels',
        summary: 'List models shared with a federation',
        description: 'Models that members may read, most recently shared first.',
        params: FederationParams,
        querystring: PageQuery,
        response: { 200: SharedModelList },
      },
      config: { access: 'training:read', errors: ['not_found'], beforeInvalid: visible } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const { federation_id } = request.params
      const found = await sharedModels.list(callerOf(request), federation_id, { limit, offset })
      return { models: found.models.map((one) => present(federation_id, one)), total: found.total, limit, offset }
    },
  )

  app.delete(
    '/api/v1/federations/:federation_id/models/:model_id',
    {
      schema: {
        operationId: 'unshareModel',
        summary: 'Stop sharing a model',
        description: 'Stop sharing a model, by its id.',
        params: SharedModelParams,
        response: { 200: Unshared },
      },
      config: { access: 'training:write', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id, model_id } = request.params
      const { name } = await sharedModels.unshare(callerOf(request), federation_id, model_id)
      return { federation_id, model_id, message: `Members of '${name}' can no longer read the model.` }
    },
  )
}

const present = (federationId: string, model: SharedModel) => ({
  federation_id: federationId,
  model_id: model.modelId,
  org_id: model.orgId,
  name: model.name,
  framework: model.framework,
  description: model.description,
  accuracy: model.accuracy,
  loss: model.loss,
  latest_version: model.latestVersion,
  shared_at: model.sharedAt.toISOString(),
})
