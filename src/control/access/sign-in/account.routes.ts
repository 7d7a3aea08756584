import { Type } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { sessionCookie } from '../../../platform/http/session-cookie.ts'
import { sessionRow } from '../sessions/session-view.service.ts'
import { SessionList, SessionParams } from '../sessions/sessions.schema.ts'
import { Account, NewPassword, PersonParams, RecoveryCodes, TotpCode, TotpSecret } from './account.schema.ts'
import type { AccountService } from './account.service.ts'

/** Open to sessions that may only set up a second factor; the service refuses those that must confirm their identity. */
const ENROLLING = {
  access: 'any-key',
  whileRestricted: true,
  errors: ['forbidden', 'conflict', 'rate_limited'],
} as const satisfies RouteConfig

/** Routes for a person's own account: how they sign in, and where they are signed in. */
export const accountRoutes = (app: App, account: AccountService): void => {
  app.get(
    '/api/v1/account',
    {
      schema: {
        operationId: 'getAccount',
        summary: 'Get your account',
        response: { 200: Account },
      },
      config: { ...ENROLLING, errors: ['forbidden'] },
    },
    async (request) => {
      const caller = callerOf(request)
      const found = await account.own(caller)
      const { account: own } = found
      return {
        id: own.id,
        org_id: own.orgId,
        email: own.email,
        name: own.name,
        role: own.role,
        password: own.passwordHash !== null,
        identity_provider: own.oidcIdentity !== null,
        totp: own.totp,
        passkeys: own.passkeys,
        recovery_codes_left: own.recoveryCodesLeft,
        must_confirm: account.mustConfirm(caller, found),
      }
    },
  )

  app.put(
    '/api/v1/account/password',
    {
      schema: {
        operationId: 'changePassword',
        summary: 'Change your password',
        description:
          'Ends your other sessions; this session gets a new token. Your personal keys stay valid unless revoke_keys is true.',
        body: NewPassword,
        response: { 204: Type.Null() },
      },
      config: { access: 'any-key', errors: ['forbidden', 'rate_limited', 'unavailable'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { old_password: old, new_password: password, revoke_keys: revokeKeys = false } = request.body
      const opened = await account.changePassword(callerOf(request), { old, password, revokeKeys })
      return reply
        .header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
        .code(204)
        .send(null)
    },
  )

  app.get(
    '/api/v1/account/sessions',
    {
      schema: {
        operationId: 'listOwnSessions',
        summary: 'List your sessions',
        response: { 200: SessionList },
      },
      config: { access: 'any-key', errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      return { sessions: (await account.listSessions(caller)).map((session) => sessionRow(session, caller)) }
    },
  )

  app.delete(
    '/api/v1/account/sessions/:session_id',
    {
      schema: {
        operationId: 'revokeOwnSession',
        summary: 'End one of your sessions',
        params: SessionParams,
        response: { 204: Type.Null() },
      },
      config: { access: 'any-key', errors: ['forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      await account.revokeSession(callerOf(request), request.params.session_id)
      return reply.code(204).send(null)
    },
  )
}

/** Routes for a person's second factor. */
export const factorRoutes = (app: App, account: AccountService): void => {
  app.post(
    '/api/v1/account/totp',
    {
      schema: {
        operationId: 'beginTotp',
        summary: 'Start setting up an authenticator app',
        description:
          'Takes effect after POST /account/totp/confirm receives a code from the app within an hour, and replaces the app that is set up, if any.',
        response: { 201: TotpSecret },
      },
      config: ENROLLING,
    },
    async (request, reply) => reply.code(201).send(await account.beginTotp(callerOf(request))),
  )

  app.post(
    '/api/v1/account/totp/confirm',
    {
      schema: {
        operationId: 'confirmTotp',
        summary: 'Finish setting up an authenticator app',
        description: 'Ends your other sessions. This session gets a new token and counts as two-factor.',
        body: TotpCode,
        response: { 200: RecoveryCodes },
      },
      config: ENROLLING,
    },
    async (request, reply) => {
      const { opened, recoveryCodes } = await account.confirmTotp(callerOf(request), request.body.code)
      reply.header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
      return { recovery_codes: recoveryCodes }
    },
  )

  app.delete(
    '/api/v1/account/totp',
    {
      schema: {
        operationId: 'removeTotp',
        summary: 'Remove your authenticator app',
        response: { 204: Type.Null() },
      },
      config: ENROLLING,
    },
    async (request, reply) => {
      await account.removeTotp(callerOf(request))
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/api/v1/account/recovery-codes',
    {
      schema: {
        operationId: 'renewRecoveryCodes',
        summary: 'Generate new recovery codes',
        description: 'The previous codes stop working.',
        response: { 201: RecoveryCodes },
      },
      config: ENROLLING,
    },
    async (request, reply) =>
      reply.code(201).send({ recovery_codes: await account.renewRecoveryCodes(callerOf(request)) }),
  )

  app.delete(
    '/api/v1/team/:member_id/second-factor',
    {
      schema: {
        operationId: 'resetSecondFactor',
        summary: 'Reset the second factor of a member',
        description:
          'Removes their authenticator app, passkeys, recovery codes, and link to the identity provider, and ends their sessions.',
        params: PersonParams,
        response: { 204: Type.Null() },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      await account.resetFactors(callerOf(request), request.params.member_id)
      return reply.code(204).send(null)
    },
  )
}
