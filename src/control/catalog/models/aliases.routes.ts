import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { presentApproval } from '../../access/approvals/approval-view.service.ts'
import { Approval } from '../../access/approvals/approvals.schema.ts'
import {
  Alias,
  AliasHistory,
  AliasHistoryQuery,
  AliasList,
  AliasParams,
  DeleteAliasQuery,
  SetAliasBody,
} from './aliases.schema.ts'
import type { AliasesService, AliasView, Mover, MoveView } from './aliases.service.ts'
import { ModelParams } from './models.schema.ts'
import type { ModelsService } from './models.service.ts'

export const aliasesRoutes = (app: App, aliases: AliasesService, models: ModelsService): void => {
  /** A missing model is 404, even if the request has other errors. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await models.find(callerOf(request), (request.params as { model_id: string }).model_id)
  }

  app.get(
    '/api/v1/models/:model_id/aliases',
    {
      schema: {
        operationId: 'listAliases',
        summary: "List a model's aliases",
        description: 'The aliases of a model with their versions.',
        params: ModelParams,
        response: { 200: AliasList },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id } = request.params
      const found = await aliases.list(callerOf(request), model_id)
      return { aliases: found.map(present) }
    },
  )

  app.put(
    '/api/v1/models/:model_id/aliases/:alias',
    {
      schema: {
        operationId: 'setAlias',
        summary: 'Move an alias to a version',
        description:
          'Point an alias to a version, effective from the next request. Anything already resolved does not change: a rollout ' +
          'of `production` continues with the version that it was created for. If the organization requires approval, the ' +
          'response is 202, and the alias moves when another admin approves.',
        params: AliasParams,
        body: SetAliasBody,
        response: { 200: Alias, 202: Approval },
      },
      config: { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { model_id, alias } = request.params
      const { version, expected_version: expected } = request.body
      const moved = await aliases.set(callerOf(request), model_id, { alias, version, expected })
      if ('shown' in moved) return present(moved.shown)
      return reply.code(202).send(presentApproval(moved.approval))
    },
  )

  app.delete(
    '/api/v1/models/:model_id/aliases/:alias',
    {
      schema: {
        operationId: 'deleteAlias',
        summary: 'Delete an alias',
        description: 'Keeps the version and the history of the alias.',
        params: AliasParams,
        querystring: DeleteAliasQuery,
        response: { 200: AliasList },
      },
      config: { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, alias } = request.params
      const caller = callerOf(request)
      await aliases.delete(caller, model_id, alias, request.query.expected_version)
      return { aliases: (await aliases.list(caller, model_id)).map(present) }
    },
  )

  app.get(
    '/api/v1/models/:model_id/alias-history',
    {
      schema: {
        operationId: 'listAliasMoves',
        summary: "List a model's alias history",
        description: "Who moved a model's aliases, when, and from which version to which; newest first.",
        params: ModelParams,
        querystring: AliasHistoryQuery,
        response: { 200: AliasHistory },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, alias } = request.query
      const found = await aliases.history(callerOf(request), request.params.model_id, alias, { limit, offset })
      return { moves: found.moves.map(presentMove), total: found.total, limit, offset }
    },
  )
}

const presentMover = ({ movedAt, movedBy, movedByName }: Mover) => ({
  moved_at: movedAt.toISOString(),
  moved_by: movedBy,
  moved_by_name: movedByName,
})

const present = (alias: AliasView) => ({
  model_id: alias.modelId,
  alias: alias.alias,
  version: alias.version,
  version_label: alias.versionLabel,
  ...presentMover(alias),
})

const presentMove = (move: MoveView) => ({
  alias: move.alias,
  from_version: move.fromVersion,
  from_version_label: move.fromLabel,
  to_version: move.toVersion,
  to_version_label: move.toLabel,
  ...presentMover(move),
})
