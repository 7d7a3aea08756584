import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { PeopleService } from './people.service.ts'
import { presentPerson } from './team.present.ts'
import { Acceptance, InvitationView, Member, TokenOfInvitation } from './team.schema.ts'

/** Routes for the invited person, who has no key yet: the token replaces it. */
export const invitationsRoutes = (app: App, people: PeopleService): void => {
  app.post(
    '/api/v1/invitations/read',
    {
      schema: {
        operationId: 'readInvitation',
        summary: 'Show what an invitation is for',
        body: TokenOfInvitation,
        response: { 200: InvitationView },
      },
      config: { access: 'public', errors: ['unauthorized'] } satisfies RouteConfig,
    },
    async (request) => {
      const { orgId, email, role, expiresAt } = await people.readInvitation(request.body.token)
      return { org_id: orgId, email, role, expires_at: expiresAt.toISOString() }
    },
  )

  app.post(
    '/api/v1/invitations/accept',
    {
      schema: {
        operationId: 'acceptInvitation',
        summary: 'Accept an invitation',
        description: 'Creates the account; then sign in with the email address and password.',
        body: Acceptance,
        response: { 201: Member },
      },
      config: { access: 'public', errors: ['unauthorized', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { token, name, password } = request.body
      return reply.code(201).send(presentPerson(await people.accept({ token, name: name ?? null, password })))
    },
  )
}
