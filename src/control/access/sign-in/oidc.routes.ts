import { validCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { stepCookie, stepTokenIn } from '../../../platform/http/session-cookie.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { PresentSession } from '../sessions/session-view.service.ts'
import { Session } from '../sessions/sessions.schema.ts'
import { browserOf, cookiesOf, presentStep, requireOwnPage } from './browser.ts'
import type { Oidc } from './oidc.service.ts'
import { ProviderAddress, ProviderCallback, ProviderSignIn, SignInStep } from './sign-in.schema.ts'
import { STEP_SECONDS } from './steps.service.ts'

/** The dashboard page to which the provider redirects the browser; the provider has it registered. */
const CALLBACK = '/sign-in/callback'

interface OidcParts {
  readonly oidc: Oidc
  readonly present: PresentSession
  readonly publicUrl: string | null
}

/** Routes for signing in with an identity provider (OpenID Connect). */
export const oidcRoutes = (app: App, { oidc, present, publicUrl }: OidcParts): void => {
  app.post(
    '/api/v1/session/oidc',
    {
      schema: {
        operationId: 'beginProviderSignIn',
        summary: 'Begin a sign-in with the identity provider',
        description:
          'Returns the address to send the browser to. A user who is already signed in must authenticate again there. The provider redirects the browser to /sign-in/callback, which passes the query string on to POST /session/oidc/callback.',
        body: optionalBody(ProviderSignIn),
        response: { 200: ProviderAddress },
      },
      config: {
        access: 'public',
        whileRestricted: true,
        errors: ['forbidden', 'conflict', 'upstream_failed', 'upstream_timeout'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const caller = await validCallerOf(request)
      const redirectUri = `${publicUrl ?? `${request.protocol}://${request.host}`}${CALLBACK}`
      const { address, token } = await oidc.begin(caller, { redirectUri, orgId: request.body?.org_id ?? null })
      reply.header('set-cookie', stepCookie(request, token, STEP_SECONDS))
      return { redirect_to: address }
    },
  )

  app.post(
    '/api/v1/session/oidc/callback',
    {
      schema: {
        operationId: 'finishProviderSignIn',
        summary: 'Finish a sign-in with the identity provider',
        description:
          'Works once, within 5 minutes, in the browser that began the sign-in. Responds with 200 when a second factor is still required: nobody is signed in until then.',
        body: ProviderCallback,
        response: { 201: Session, 200: SignInStep },
      },
      config: {
        access: 'public',
        errors: ['unauthorized', 'forbidden', 'conflict', 'upstream_failed', 'upstream_timeout'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const outcome = await oidc.finish(stepTokenIn(request), request.body.query, browserOf(request))
      reply.header('set-cookie', cookiesOf(request, outcome))
      if (outcome.kind === 'step') return reply.code(200).send(presentStep(outcome))
      return reply.code(201).send(await present(outcome.opened.caller))
    },
  )
}
