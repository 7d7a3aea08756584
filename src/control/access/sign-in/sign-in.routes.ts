import type { FastifyRequest } from 'fastify'
import { forbidden } from '../../../domain/errors.ts'
import { callerOf, isFromOwnPage } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { sessionCookie, stepTokenIn } from '../../../platform/http/session-cookie.ts'
import type { PresentSession } from '../sessions/session.present.ts'
import { Session } from '../sessions/sessions.schema.ts'
import { browserOf, cookiesOf } from './browser.ts'
import { Confirmation, SecondFactor } from './sign-in.schema.ts'
import type { SignIn } from './sign-in.service.ts'

/** @throws forbidden where a page of somebody else sent it */
export const requireOwnPage = (request: FastifyRequest): void => {
  if (!isFromOwnPage(request)) throw forbidden('Only a page of this service signs people in.')
}

/** The second step of a sign-in, and showing again who one is. */
export const signInRoutes = (app: App, signIn: SignIn, present: PresentSession): void => {
  app.post(
    '/api/v1/session/second-factor',
    {
      schema: {
        operationId: 'showSecondFactor',
        summary: 'Finish a sign-in with a second factor',
        description: 'For the browser whose sign-in waits for it: 5 minutes, 5 attempts. No code works twice.',
        'x-extension': true,
        body: SecondFactor,
        response: { 201: Session },
      },
      config: { access: 'public', errors: ['unauthorized', 'forbidden'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const { code, recovery_code: recoveryCode } = request.body
      const shown = { ...(code !== undefined && { code }), ...(recoveryCode !== undefined && { recoveryCode }) }
      const outcome = await signIn.bySecondFactor(stepTokenIn(request), shown, browserOf(request))
      reply.header('set-cookie', cookiesOf(request, outcome))
      return reply.code(201).send(await present(outcome.opened.caller))
    },
  )

  app.post(
    '/api/v1/session/confirm',
    {
      schema: {
        operationId: 'confirmSession',
        summary: 'Confirm who is signed in',
        description:
          'Asked for after a while without use, and before factors are changed. The session goes on under another token.',
        'x-extension': true,
        body: Confirmation,
        response: { 200: Session },
      },
      config: {
        access: 'any-key',
        whileRestricted: true,
        errors: ['forbidden', 'rate_limited', 'unavailable'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const opened = await signIn.confirm(callerOf(request), request.body.password)
      reply.header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
      return present(opened.caller)
    },
  )
}
