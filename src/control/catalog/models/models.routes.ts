import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { LineageService } from './lineage.service.ts'
import { present, presentNamedVersion } from './models.present.ts'
import {
  CreateModelBody,
  ListModelsQuery,
  Model,
  ModelChanges,
  ModelDetail,
  ModelList,
  ModelParams,
} from './models.schema.ts'
import type { ModelsService } from './models.service.ts'
import { type VersionStorage, versionsRoutes } from './versions.routes.ts'

export const modelsRoutes = (
  app: App,
  models: ModelsService,
  lineage: LineageService,
  storage: VersionStorage,
): void => {
  app.post(
    '/api/v1/models',
    {
      schema: {
        operationId: 'createModel',
        summary: 'Create a model',
        description: 'Add a model to the catalog; its weights are uploaded as versions.',
        body: CreateModelBody,
        response: { 201: Model },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, framework, framework_version, description, is_baseline } = request.body
      const created = await models.create(callerOf(request), {
        name: name ?? null,
        framework: framework ?? 'pytorch',
        frameworkVersion: framework_version ?? '',
        description: description ?? '',
        isBaseline: is_baseline ?? false,
      })
      return reply.code(201).send(present(created))
    },
  )

  app.get(
    '/api/v1/models',
    {
      schema: {
        operationId: 'listModels',
        summary: 'List models',
        description: 'List the catalog, newest first.',
        querystring: ListModelsQuery,
        response: { 200: ModelList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, q, framework, is_baseline, round_models: roundModels = true } = request.query
      const found = await models.list(
        callerOf(request),
        { q: q.trim(), framework, isBaseline: is_baseline, roundModels },
        { limit, offset },
      )
      return { models: found.models.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/models/:model_id',
    {
      schema: {
        operationId: 'getModel',
        summary: 'Get a model with its versions',
        params: ModelParams,
        response: { 200: ModelDetail },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      const found = await models.detail(caller, request.params.model_id)
      const delivered = await lineage.deliveredOf(caller, found.model.id)
      return {
        ...present(found),
        versions: found.versions.map(presentNamedVersion),
        delivered_versions: [...delivered],
      }
    },
  )

  app.patch(
    '/api/v1/models/:model_id',
    {
      schema: {
        operationId: 'updateModel',
        summary: "Change a model's description",
        params: ModelParams,
        body: ModelChanges,
        response: { 200: Model },
      },
      config: {
        access: 'models:write',
        errors: ['not_found'],
        beforeInvalid: async (request) => {
          await models.find(callerOf(request), (request.params as { model_id: string }).model_id)
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id } = request.params
      return present(await models.describe(callerOf(request), model_id, request.body.description))
    },
  )

  versionsRoutes(app, models, storage)
}
