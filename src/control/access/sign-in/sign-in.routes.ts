import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../../domain/access.ts'
import { badRequest } from '../../../domain/errors.ts'
import { callerOf, callerOfKey } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { challengeTokenIn, sessionCookie, sessionTokenIn, stepTokenIn } from '../../../platform/http/session-cookie.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { LoginService } from '../login/login.service.ts'
import type { PresentSession } from '../sessions/session-view.service.ts'
import { OpenSessionBody, Session } from '../sessions/sessions.schema.ts'
import type { SessionsService } from '../sessions/sessions.service.ts'
import { browserOf, cookiesOf, presentStep, requireOwnPage } from './browser.ts'
import { pageOf } from './passkeys.routes.ts'
import type { Passkeys } from './passkeys.service.ts'
import { Confirmation, SecondFactor, SignInStep } from './sign-in.schema.ts'
import type { SignIn } from './sign-in.service.ts'
import type { CredentialResponse } from './web-authn.ts'

interface SignInParts {
  readonly signIn: SignIn
  readonly sessions: SessionsService
  readonly login: LoginService
  readonly present: PresentSession
  readonly passkeys: Passkeys
  readonly publicUrl: string | null
}

const callerOrNobody = async (request: FastifyRequest, key: string | undefined): Promise<Caller | null> =>
  key === undefined ? null : callerOfKey(request, key)

/** Routes for signing in with a key, a link or a password, for the second factor, and for confirming an identity. */
export const signInRoutes = (
  app: App,
  { signIn, sessions, login, present, passkeys, publicUrl }: SignInParts,
): void => {
  app.post(
    '/api/v1/session',
    {
      schema: {
        operationId: 'openSession',
        summary: 'Sign in a browser',
        description:
          'Takes an API key, the code of a link, or an email address and password. Sets an HttpOnly cookie that is accepted only from pages of this service. Responds with 200 when a second factor is still required: nobody is signed in until then.',
        body: optionalBody(OpenSessionBody),
        response: { 201: Session, 200: SignInStep },
      },
      config: {
        access: 'public',
        errors: ['unauthorized', 'forbidden', 'rate_limited', 'unavailable'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const { api_key: key, code, email, password, org_id: orgId } = request.body ?? {}
      if ([key, code, email ?? password].filter((one) => one !== undefined).length > 1) {
        throw badRequest('Send one of these: api_key; code; or email and password.')
      }
      if (email !== undefined || password !== undefined) {
        if (email === undefined) throw badRequest('email: send it together with a password.')
        if (password === undefined) throw badRequest('password: send it together with an email.')
        const outcome = await signIn.byPassword(
          { email: email.trim().normalize('NFC'), password, orgId },
          browserOf(request),
        )
        reply.header('set-cookie', cookiesOf(request, outcome))
        if (outcome.kind === 'step') return reply.code(200).send(presentStep(outcome))
        return reply.code(201).send(await present(outcome.opened.caller))
      }
      const caller = code !== undefined ? await login.redeemLink(code) : await callerOrNobody(request, key?.trim())
      const browser = request.headers['user-agent'] ?? ''
      const opened = await sessions.open(caller, browser, sessionTokenIn(request))
      reply.header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
      return reply.code(201).send(await present(opened.caller))
    },
  )

  app.post(
    '/api/v1/session/second-factor',
    {
      schema: {
        operationId: 'showSecondFactor',
        summary: 'Finish a sign-in with a second factor',
        description:
          'For the browser that is waiting for its second factor: 5 attempts within 5 minutes. Each code works once.',
        body: SecondFactor,
        response: { 201: Session },
      },
      config: { access: 'public', errors: ['unauthorized', 'forbidden', 'rate_limited'] } satisfies RouteConfig,
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
        summary: 'Confirm your identity',
        description:
          'Takes a password or a passkey. Required after a period of inactivity and before sign-in factors are changed. The session gets a new token.',
        body: Confirmation,
        response: { 200: Session },
      },
      config: {
        access: 'any-key',
        whileRestricted: true,
        errors: ['unauthorized', 'forbidden', 'conflict', 'rate_limited', 'unavailable'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { password, credential } = request.body
      if ((password === undefined) === (credential === undefined)) {
        throw badRequest('Send either password or credential (of a passkey).')
      }
      const opened =
        password !== undefined
          ? await signIn.confirm(callerOf(request), password)
          : await passkeys.confirm(callerOf(request), {
              token: challengeTokenIn(request),
              page: pageOf(request, publicUrl),
              response: credential as CredentialResponse,
            })
      reply.header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
      return present(opened.caller)
    },
  )
}
