import type { EnrollmentMode } from '../../../domain/access.ts'
import { optionalCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { LOGIN_PAGE_POLICY, loginPage } from './login.page.ts'
import { Authorization, AuthorizeBody, Token, TokenBody } from './login.schema.ts'
import type { LoginService } from './login.service.ts'

export const loginRoutes = (app: App, login: LoginService, enrollment: EnrollmentMode): void => {
  app.get(
    '/login',
    { schema: { hide: true }, config: { access: 'public' } satisfies RouteConfig },
    async (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', LOGIN_PAGE_POLICY)
        .send(loginPage(enrollment === 'token')),
  )

  app.post(
    '/api/v1/login/authorize',
    {
      schema: {
        operationId: 'authorizeLogin',
        summary: 'Approve a command-line sign-in',
        description: 'Approve a sign-in that the command line started in the browser.',
        body: AuthorizeBody,
        response: { 200: Authorization },
      },
      config: { access: 'public', errors: ['unauthorized', 'forbidden'] } satisfies RouteConfig,
    },
    async (request) => {
      const { code_challenge, redirect_uri, state } = request.body
      const requested = { challenge: code_challenge, redirectUri: redirect_uri, state }
      return { redirect_to: await login.authorize(await optionalCallerOf(request), requested) }
    },
  )

  app.post(
    '/api/v1/login/token',
    {
      schema: {
        operationId: 'exchangeLoginCode',
        summary: 'Exchange a sign-in code for a key',
        body: TokenBody,
        response: { 200: Token },
      },
      config: { access: 'public', errors: ['unauthorized'] } satisfies RouteConfig,
    },
    async (request) => {
      const { key, token } = await login.exchange(request.body.code, request.body.code_verifier)
      return { api_key: token, org_id: key.orgId, expires_at: key.expiresAt?.toISOString() ?? null }
    },
  )
}
