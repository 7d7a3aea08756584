import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import {
  FederationParams,
  InviteBody,
  Invited,
  JoinBody,
  Joined,
  Left,
  MemberList,
  MemberParams,
  PageQuery,
} from './federations.schema.ts'
import type { Member, MembersService } from './members.service.ts'

/** Checks that run before a request is answered with 400. */
export interface Checks {
  readonly visible: NonNullable<RouteConfig['beforeInvalid']>
  readonly owned: NonNullable<RouteConfig['beforeInvalid']>
}

export const membersRoutes = (app: App, members: MembersService, { visible, owned }: Checks): void => {
  app.post(
    '/api/v1/federations/:federation_id/invite',
    {
      schema: {
        operationId: 'inviteToFederation',
        summary: 'Invite organizations to a federation',
        description: 'Invite organizations. Inviting one again changes nothing.',
        params: FederationParams,
        body: InviteBody,
        response: { 200: Invited },
      },
      config: { access: 'training:write', errors: ['not_found'], beforeInvalid: owned } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id } = request.params
      const { invited, skipped } = await members.invite(callerOf(request), federation_id, request.body.org_ids)
      return { federation_id, invited, skipped }
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/join',
    {
      schema: {
        operationId: 'joinFederation',
        summary: 'Join a federation',
        description: 'Accept an invitation. A key that is not bound to an organization needs no invitation.',
        params: FederationParams,
        body: JoinBody,
        response: { 200: Joined },
      },
      config: { access: 'training:write', errors: ['not_found'], beforeInvalid: visible } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id } = request.params
      const { org_id } = request.body
      const { membership } = await members.join(callerOf(request), federation_id, org_id)
      return { federation_id, org_id, ...membership! }
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/members',
    {
      schema: {
        operationId: 'listFederationMembers',
        summary: 'List members with their contributions',
        description: "Members, with their devices' contributions to completed rounds; private rounds are left out.",
        params: FederationParams,
        querystring: PageQuery,
        response: { 200: MemberList },
      },
      config: {
        access: 'training:read',
        deviceKeys: false,
        errors: ['not_found'],
        beforeInvalid: visible,
      } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await members.list(callerOf(request), request.params.federation_id, { limit, offset })
      return { members: found.members.map(present), total: found.total, limit, offset }
    },
  )

  app.delete(
    '/api/v1/federations/:federation_id/members/:org_id',
    {
      schema: {
        operationId: 'removeFederationMember',
        summary: 'Leave a federation or remove a member',
        description: 'Leave, or remove a member; also declines or withdraws an invitation.',
        params: MemberParams,
        response: { 200: Left },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id, org_id } = request.params
      const { name } = await members.removeMember(callerOf(request), federation_id, org_id)
      return { federation_id, org_id, message: `'${org_id}' is no longer a member of '${name}'.` }
    },
  )
}

const present = (member: Member) => ({
  org_id: member.orgId,
  role: member.role,
  status: member.status,
  invited_at: member.invitedAt?.toISOString() ?? null,
  joined_at: member.joinedAt?.toISOString() ?? null,
  rounds_contributed: member.roundsContributed,
  total_samples: member.totalSamples,
  avg_accuracy: member.avgAccuracy,
  avg_loss: member.avgLoss,
  last_contribution_at: member.lastContributionAt?.toISOString() ?? null,
})
