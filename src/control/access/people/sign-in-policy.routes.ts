import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { OrgSettings, SettingsService } from '../settings/settings.service.ts'
import { teamOf } from './people.service.ts'
import { NewSignInPolicy, SignInPolicy, TeamQuery } from './team.schema.ts'

/** Routes for the sign-in policy of an organization. */
export const signInPolicyRoutes = (app: App, settings: SettingsService): void => {
  app.get(
    '/api/v1/team/policy',
    {
      schema: {
        operationId: 'getSignInPolicy',
        summary: 'Get the sign-in policy of an organization',
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
        summary: 'Change the sign-in policy of an organization',
        description: 'Takes effect immediately, including for open sessions.',
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

const presentPolicy = (orgId: string, { requireMfa, sessionHours, reauthenticateMinutes }: OrgSettings) => ({
  org_id: orgId,
  require_mfa: requireMfa,
  session_hours: sessionHours,
  reauthenticate_minutes: reauthenticateMinutes,
})
