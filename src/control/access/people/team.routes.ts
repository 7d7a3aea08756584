import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { OrgSettings, SettingsService } from '../settings/settings.service.ts'
import type { EraseNames } from './name-erasure.service.ts'
import {
  type Invitation as Invited,
  type Member as Listed,
  type PeopleService,
  type Person,
  teamOf,
} from './people.service.ts'
import {
  Acceptance,
  Invitation,
  InvitationView,
  Member,
  MemberParams,
  NameParams,
  NewInvitation,
  NewRole,
  NewSignInPolicy,
  SignInPolicy,
  Team,
  TeamQuery,
  TokenOfInvitation,
} from './team.schema.ts'

interface TeamParts {
  readonly people: PeopleService
  /** SERVICE_PUBLIC_URL */
  readonly publicUrl: string | null
  readonly now: () => Date
}

const ONE = { access: 'admin', errors: ['not_found', 'conflict'] } as const satisfies RouteConfig

/** The people of an organization. */
export const teamRoutes = (app: App, { people, publicUrl, now }: TeamParts): void => {
  const addressOf = (request: FastifyRequest): string =>
    publicUrl ?? `${request.protocol}://${request.headers.host ?? 'localhost'}`
  const presentInvitation = ({ id, email, role, createdAt, expiresAt }: Invited) => ({
    id,
    email,
    name: null,
    role,
    status: expiresAt > now() ? ('invited' as const) : ('expired' as const),
    mfa: false,
    signed_in_at: null,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  })
  const present = (member: Listed) =>
    member.kind === 'person' ? presentPerson(member.person) : presentInvitation(member.invitation)

  app.get(
    '/api/v1/team',
    {
      schema: {
        operationId: 'listTeam',
        summary: 'List the people of an organization',
        description: 'Members in the order in which they joined, then open invitations.',
        'x-extension': true,
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
        'x-extension': true,
        body: NewInvitation,
        response: { 201: Invitation },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { email, role = 'member', org_id } = request.body
      const linkOf = (token: string) => `${addressOf(request)}/#invitation=${token}`
      const made = await people.invite(callerOf(request), { email, role, orgId: org_id }, linkOf)
      const { invitation, token, mail } = made
      const shown = { ...presentInvitation(invitation), org_id: invitation.orgId, token, link: linkOf(token), mail }
      return reply.code(201).send(shown)
    },
  )

  app.patch(
    '/api/v1/team/:member_id',
    {
      schema: {
        operationId: 'setMemberRole',
        summary: 'Change the role of a member',
        'x-extension': true,
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
        'x-extension': true,
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

/** Erasing a person's name. */
export const nameErasureRoutes = (app: App, erase: EraseNames): void => {
  app.delete(
    '/api/v1/audit/names/:name_kind/:name_id',
    {
      schema: {
        operationId: 'eraseAuditName',
        summary: 'Erase a name from the audit log',
        description:
          'Erases the name of a removed person, key, device or other object, the addresses that it acted from and, for a ' +
          'person, the email address. The entries keep their ids, and the chain stays valid.',
        'x-extension': true,
        params: NameParams,
        querystring: TeamQuery,
        response: { 204: Type.Null() },
      },
      config: ONE,
    },
    async (request, reply) => {
      const { name_kind: kind, name_id: id } = request.params
      await erase(callerOf(request), request.query.org_id, kind, id)
      return reply.code(204).send(null)
    },
  )
}

/** Routes for the invited person, who has no key yet: the token replaces it. */
export const invitationsRoutes = (app: App, people: PeopleService): void => {
  app.post(
    '/api/v1/invitations/read',
    {
      schema: {
        operationId: 'readInvitation',
        summary: 'Show what an invitation is for',
        'x-extension': true,
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
        'x-extension': true,
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

/** How the people of an organization sign in. */
export const signInPolicyRoutes = (app: App, settings: SettingsService): void => {
  app.get(
    '/api/v1/team/policy',
    {
      schema: {
        operationId: 'getSignInPolicy',
        summary: 'Get the sign-in rules of an organization',
        'x-extension': true,
        querystring: TeamQuery,
        response: { 200: SignInPolicy },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const orgId = teamOf(callerOf(request), request.query.org_id)
      return presentPolicy(orgId, await settings.of(orgId))
    },
  )

  app.patch(
    '/api/v1/team/policy',
    {
      schema: {
        operationId: 'setSignInPolicy',
        summary: 'Change the sign-in rules of an organization',
        description: 'Takes effect immediately, including for open sessions.',
        'x-extension': true,
        body: NewSignInPolicy,
        response: { 200: SignInPolicy },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id, require_mfa, session_hours, reauthenticate_minutes } = request.body
      const orgId = teamOf(callerOf(request), org_id)
      const change = {
        ...(require_mfa !== undefined && { requireMfa: require_mfa }),
        ...(session_hours !== undefined && { sessionHours: session_hours }),
        ...(reauthenticate_minutes !== undefined && { reauthenticateMinutes: reauthenticate_minutes }),
      }
      return presentPolicy(orgId, await settings.change(orgId, change))
    },
  )
}

const presentPerson = (person: Person) => ({
  id: person.id,
  email: person.email,
  name: person.name,
  role: person.role,
  status: 'active' as const,
  mfa: person.mfa,
  signed_in_at: person.signedInAt?.toISOString() ?? null,
  created_at: person.createdAt.toISOString(),
  expires_at: null,
})

const presentPolicy = (orgId: string, { requireMfa, sessionHours, reauthenticateMinutes }: OrgSettings) => ({
  org_id: orgId,
  require_mfa: requireMfa,
  session_hours: sessionHours,
  reauthenticate_minutes: reauthenticateMinutes,
})
