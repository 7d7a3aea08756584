import { Type } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { EraseNames } from './name-erasure.service.ts'
import { NameParams, TeamQuery } from './team.schema.ts'

export const nameErasureRoutes = (app: App, erase: EraseNames): void => {
  app.delete(
    '/api/v1/audit/names/:name_kind/:name_id',
    {
      schema: {
        operationId: 'eraseAuditName',
        summary: 'Erase a name from the audit log',
        description:
          'Erases the name of a removed person, or of a key, device, or other object, the addresses that it acted from and, for a ' +
          'person, the email address. The entries keep their ids, and the chain stays valid. The name of a key or device that ' +
          'still exists returns with its next entry. Without org_id, a key that belongs to no organization erases it in the entries of ' +
          'the organization `default` and in entries that belong to no organization.',
        params: NameParams,
        querystring: TeamQuery,
        response: { 204: Type.Null() },
      },
      config: { access: 'admin', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name_kind: kind, name_id: id } = request.params
      await erase(callerOf(request), request.query.org_id, kind, id)
      return reply.code(204).send(null)
    },
  )
}
