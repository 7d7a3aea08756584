import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import type { OrgsService } from '../orgs/orgs.service.ts'
import { type Member as Listed, type PeopleService, teamOf } from './people.service.ts'
import { presentInvitation, presentPerson } from './team.present.ts'
import { Invitation, Member, MemberParams, NewInvitation, NewRole, Team, TeamQuery } from './team.schema.ts'

interface TeamParts {
  readonly people: PeopleService
  readonly orgs: Pick<OrgsService, 'warningsOf'>
  /** SERVICE_PUBLIC_URL */
  readonly publicUrl: string | null
  readonly now: () => Date
}

const ONE = { access: 'admin', errors: ['not_found', 'conflict'] } as const satisfies RouteConfig

/** Routes for the people of an organization. */
export const teamRoutes = (app: App, { people, orgs, publicUrl, now }: TeamParts): void => {
  const addressOf = (request: FastifyRequest): string =>
    publicUrl ?? `${request.protocol}://${request.headers.host ?? 'localhost'}`
  const present = (member: Listed) =>
    member.kind === 'person' ? presentPerson(member.person) : presentInvitation(member.invitation, now())

  app.get(
    '/api/v1/team',
    {
      schema: {
        operationId: 'listTeam',
        summary: 'List the people of an organization',
        description: 'Members in the order in which they joined, then invitations, including expired ones.',
        querystring: TeamQuery,
        response: { 200: Team },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const { orgId, members } = await people.list(callerOf(request), request.query.org_id)
      return { org_id: orgId, members: members.map(present) }
    },
  )

  app.post(
    '/api/v1/team',
    {
      schema: {
        operationId: 'inviteMember',
        summary: 'Invite a person to an organization',
        description:
          'The link works once, within 7 days, and is sent by email if SERVICE_SMTP_URL is set. Inviting the same address again replaces the invitation.',
        body: NewInvitation,
        response: { 201: Invitation },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { email, role = 'member', org_id } = request.body
      const linkOf = (token: string) => `${addressOf(request)}/#invitation=${token}`
      const caller = callerOf(request)
      // Before the invitation is sent: if this fails, the response cannot show its link.
      for (const warning of await orgs.warningsOf(teamOf(caller, org_id))) warn(request, warning)
      const { invitation, token, mail } = await people.invite(caller, { email, role, orgId: org_id }, linkOf)
      const shown = {
        ...presentInvitation(invitation, now()),
        org_id: invitation.orgId,
        token,
        link: linkOf(token),
        mail,
      }
      return reply.code(201).send(shown)
    },
  )

  app.patch(
    '/api/v1/team/:member_id',
    {
      schema: {
        operationId: 'setMemberRole',
        summary: 'Change the role of a member',
        params: MemberParams,
        body: NewRole,
        response: { 200: Member },
      },
      config: ONE,
    },
    async (request) => present(await people.setRole(callerOf(request), request.params.member_id, request.body.role)),
  )

  app.delete(
    '/api/v1/team/:member_id',
    {
      schema: {
        operationId: 'removeMember',
        summary: 'Remove a member, or revoke an invitation',
        description: "Ends the member's sessions and personal keys. The last admin cannot be removed.",
        params: MemberParams,
        response: { 204: Type.Null() },
      },
      config: ONE,
    },
    async (request, reply) => {
      await people.remove(callerOf(request), request.params.member_id)
      return reply.code(204).send(null)
    },
  )
}
