import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { CreateOrgBody, Org, OrgParams } from './orgs.schema.ts'
import type { OrgsService, StoredOrg } from './orgs.service.ts'

export const orgsRoutes = (app: App, orgs: OrgsService): void => {
  app.post(
    '/api/v1/orgs',
    {
      schema: {
        operationId: 'createOrg',
        summary: 'Create an organization',
        description:
          'Create an organization that keys and devices can be bound to. `region` defaults to SERVICE_REGION, or us.',
        body: CreateOrgBody,
        response: { 201: Org },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, compliance, region } = request.body
      const org = await orgs.create(callerOf(request), {
        name,
        compliance: compliance ?? null,
        region: region ?? null,
      })
      return reply.code(201).send(present(org))
    },
  )

  app.get(
    '/api/v1/orgs/:org_id',
    {
      schema: {
        operationId: 'getOrg',
        summary: 'Get an organization',
        params: OrgParams,
        response: { 200: Org },
      },
      config: { access: 'any-key', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await orgs.get(callerOf(request), request.params.org_id)),
  )
}

const present = (org: StoredOrg) => ({
  id: org.id,
  name: org.name,
  compliance: org.compliance,
  region: org.region,
  created_at: org.createdAt.toISOString(),
})
