import { Type } from 'typebox'
import { forbidden } from '../../../domain/errors.ts'
import { callerOf, isFromOwnPage, validCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { sessionCookie, sessionTokenIn } from '../../../platform/http/session-cookie.ts'
import type { LoginService } from '../login/login.service.ts'
import { type PresentSession, sessionRow } from './session-view.service.ts'
import { Session, SessionList, SessionParams, SignInLink } from './sessions.schema.ts'
import type { SessionsService } from './sessions.service.ts'

interface SessionParts {
  readonly sessions: SessionsService
  readonly login: LoginService
  readonly present: PresentSession
}

export const sessionsRoutes = (app: App, { sessions, login, present }: SessionParts): void => {
  app.get(
    '/api/v1/session',
    {
      schema: {
        operationId: 'getSession',
        summary: 'Get the session of this browser',
        description:
          'The signed-in person or key, and the settings that the dashboard needs. A request with the header X-Service-Background: 1, on any path, does not count as use of the session: pages send it with requests that the user did not cause.',
        response: { 200: Session },
      },
      config: { access: 'public', whileRestricted: true } satisfies RouteConfig,
    },
    async (request) => present(await validCallerOf(request)),
  )

  app.post(
    '/api/v1/session/links',
    {
      schema: {
        operationId: 'createSignInLink',
        summary: 'Create a link that signs in a browser',
        description: 'The session acts with the key of this request. The link works once, within a minute.',
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
        response: { 204: Type.Null() },
      },
      config: { access: 'public', errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      if (!isFromOwnPage(request)) throw forbidden('Only a page of this service can end its session.')
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
        summary: 'List browser sessions',
        description: 'Open sessions, newest first, at most 1,000.',
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
        summary: 'End a browser session',
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
