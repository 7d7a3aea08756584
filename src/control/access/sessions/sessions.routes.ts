import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Caller } from '../../../domain/access.ts'
import { badRequest, forbidden, ServiceError } from '../../../domain/errors.ts'
import { callerOf, callerOfKey, isFromOwnPage, optionalCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { sessionCookie, sessionTokenIn } from '../../../platform/http/session-cookie.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { LoginService } from '../login/login.service.ts'
import { browserOf, cookiesOf, presentStep } from '../sign-in/browser.ts'
import { SignInStep } from '../sign-in/sign-in.schema.ts'
import type { SignIn } from '../sign-in/sign-in.service.ts'
import { type PresentSession, sessionRow } from './session.present.ts'
import { OpenSessionBody, Session, SessionList, SessionParams, SignInLink } from './sessions.schema.ts'
import type { SessionsService } from './sessions.service.ts'

/** A session that has ended is no session; what a page asks first must say so instead of failing. */
const knownOrNobody = async (request: FastifyRequest): Promise<Caller | null> => {
  try {
    return await optionalCallerOf(request)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return null
    throw error
  }
}

const callerOrNobody = async (request: FastifyRequest, key: string | undefined): Promise<Caller | null> =>
  key === undefined ? null : callerOfKey(request, key)

interface SessionParts {
  readonly sessions: SessionsService
  readonly login: LoginService
  readonly signIn: SignIn
  readonly present: PresentSession
}

export const sessionsRoutes = (app: App, { sessions, login, signIn, present }: SessionParts): void => {
  app.get(
    '/api/v1/session',
    {
      schema: {
        operationId: 'getSession',
        summary: 'Get the session of this browser',
        description: 'Who is signed in, and the settings that the dashboard needs to start.',
        'x-extension': true,
        response: { 200: Session },
      },
      config: { access: 'public', whileRestricted: true } satisfies RouteConfig,
    },
    async (request) => present(await knownOrNobody(request)),
  )

  app.post(
    '/api/v1/session',
    {
      schema: {
        operationId: 'openSession',
        summary: 'Sign in a browser',
        description:
          'By an API key, the code of a link, or email and password. Sets an HttpOnly cookie that is accepted only from pages of this service. Answers 200 where a second factor is due: nothing is signed in before.',
        'x-extension': true,
        body: optionalBody(OpenSessionBody),
        response: { 201: Session, 200: SignInStep },
      },
      config: {
        access: 'public',
        errors: ['unauthorized', 'forbidden', 'rate_limited', 'unavailable'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      if (!isFromOwnPage(request))
        throw forbidden('Only a page of this service opens a session. Use the API key itself.')
      const { api_key: key, code, email, password, org_id: orgId } = request.body ?? {}
      if ([key, code, email ?? password].filter((one) => one !== undefined).length > 1) {
        throw badRequest('Send one of these: api_key; code; or email and password.')
      }
      if (email !== undefined || password !== undefined) {
        if (email === undefined) throw badRequest('email: it belongs to the password.')
        if (password === undefined) throw badRequest('password: it belongs to the email.')
        const outcome = await signIn.byPassword({ email: email.trim(), password, orgId }, browserOf(request))
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
    '/api/v1/session/links',
    {
      schema: {
        operationId: 'createSignInLink',
        summary: 'Make a link that signs in a browser',
        description: 'Its session stands for the key of this request. It works once and within a minute.',
        'x-extension': true,
        response: { 201: SignInLink },
      },
      config: { access: 'any-key', errors: ['conflict', 'forbidden'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { code, expiresAt } = await login.makeLink(callerOf(request))
      return reply.code(201).send({ path: `/#sign-in=${code}`, expires_at: expiresAt.toISOString() })
    },
  )

  app.delete(
    '/api/v1/session',
    {
      schema: {
        operationId: 'closeSession',
        summary: 'Sign out this browser',
        'x-extension': true,
        response: { 204: Type.Null() },
      },
      config: { access: 'public', errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      if (!isFromOwnPage(request)) throw forbidden('Only a page of this service ends its session.')
      const token = sessionTokenIn(request)
      if (token !== null) await sessions.close(token)
      return reply
        .header('set-cookie', sessionCookie(request, '', 0))
        .code(204)
        .send(null)
    },
  )

  app.get(
    '/api/v1/sessions',
    {
      schema: {
        operationId: 'listSessions',
        summary: 'List sessions of browsers',
        description: 'Sessions that have not ended, newest first.',
        'x-extension': true,
        response: { 200: SessionList },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      return { sessions: (await sessions.list(caller)).map((session) => sessionRow(session, caller)) }
    },
  )

  app.delete(
    '/api/v1/sessions/:session_id',
    {
      schema: {
        operationId: 'revokeSession',
        summary: 'End a session of a browser',
        'x-extension': true,
        params: SessionParams,
        response: { 204: Type.Null() },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      await sessions.revoke(callerOf(request), request.params.session_id)
      return reply.code(204).send(null)
    },
  )
}
