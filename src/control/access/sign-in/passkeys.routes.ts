import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { challengeCookie, challengeTokenIn, sessionCookie, stepTokenIn } from '../../../platform/http/session-cookie.ts'
import type { PresentSession } from '../sessions/session-view.service.ts'
import { Session } from '../sessions/sessions.schema.ts'
import { browserOf, cookiesOf, requireOwnPage } from './browser.ts'
import {
  AddedPasskey,
  NewPasskey,
  Passkey,
  PasskeyList,
  PasskeyName,
  PasskeyOptions,
  PasskeyParams,
  PasskeySignIn,
} from './passkeys.schema.ts'
import type { Passkeys, Passkey as StoredPasskey } from './passkeys.service.ts'
import { STEP_SECONDS } from './steps.service.ts'
import { type CredentialResponse, type RelyingParty, relyingPartyOf } from './web-authn.ts'

const ENROLLING = {
  access: 'any-key',
  whileRestricted: true,
  errors: ['forbidden', 'conflict'],
} as const satisfies RouteConfig
const OF_ONE = { access: 'any-key', errors: ['forbidden', 'not_found', 'conflict'] } as const satisfies RouteConfig
const SIGNING_IN = {
  access: 'public',
  errors: ['unauthorized', 'forbidden', 'conflict'],
} as const satisfies RouteConfig

const presentPasskey = ({ id, name, createdAt, lastUsedAt }: StoredPasskey) => ({
  id,
  name,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString() ?? null,
})

/** Returns the page that a request claims to come from. */
export const pageOf = (request: FastifyRequest, publicUrl: string | null): RelyingParty => {
  const { protocol, hostname, socket } = request
  return relyingPartyOf(publicUrl, { protocol, hostname, port: socket.localPort ?? 0 })
}

interface PasskeyParts {
  readonly passkeys: Passkeys
  readonly publicUrl: string | null
}

/** Routes for the passkeys of the signed-in person. */
export const passkeysRoutes = (app: App, { passkeys, publicUrl }: PasskeyParts): void => {
  app.get(
    '/api/v1/account/passkeys',
    {
      schema: {
        operationId: 'listPasskeys',
        summary: 'List your passkeys',
        response: { 200: PasskeyList },
      },
      config: { access: 'any-key', whileRestricted: true, errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request) => ({ passkeys: (await passkeys.list(callerOf(request))).map(presentPasskey) }),
  )

  app.post(
    '/api/v1/account/passkeys/options',
    {
      schema: {
        operationId: 'beginPasskey',
        summary: 'Start adding a passkey',
        description:
          'Options for navigator.credentials.create() in this browser, valid for one attempt within 5 minutes.',
        response: { 200: PasskeyOptions },
      },
      config: ENROLLING,
    },
    async (request, reply) => {
      const { options, token } = await passkeys.beginAdding(callerOf(request), pageOf(request, publicUrl))
      reply.header('set-cookie', challengeCookie(request, token, STEP_SECONDS))
      return { public_key: options }
    },
  )

  app.post(
    '/api/v1/account/passkeys',
    {
      schema: {
        operationId: 'addPasskey',
        summary: 'Add a passkey',
        description: 'Ends your other sessions. This session gets a new token and counts as two-factor.',
        body: NewPasskey,
        response: { 201: AddedPasskey },
      },
      config: ENROLLING,
    },
    async (request, reply) => {
      const { name, credential } = request.body
      const page = pageOf(request, publicUrl)
      const answered = { token: challengeTokenIn(request), page, response: credential as CredentialResponse }
      const { passkey, opened, recoveryCodes } = await passkeys.add(callerOf(request), name, answered)
      reply.header('set-cookie', sessionCookie(request, opened.token, opened.seconds))
      return reply.code(201).send({ ...presentPasskey(passkey), recovery_codes: recoveryCodes })
    },
  )

  app.patch(
    '/api/v1/account/passkeys/:passkey_id',
    {
      schema: {
        operationId: 'renamePasskey',
        summary: 'Rename a passkey',
        params: PasskeyParams,
        body: PasskeyName,
        response: { 200: Passkey },
      },
      config: { ...OF_ONE, errors: ['forbidden', 'not_found'] },
    },
    async (request) =>
      presentPasskey(await passkeys.rename(callerOf(request), request.params.passkey_id, request.body.name)),
  )

  app.delete(
    '/api/v1/account/passkeys/:passkey_id',
    {
      schema: {
        operationId: 'removePasskey',
        summary: 'Remove a passkey',
        params: PasskeyParams,
        response: { 204: Type.Null() },
      },
      config: OF_ONE,
    },
    async (request, reply) => {
      await passkeys.remove(callerOf(request), request.params.passkey_id)
      return reply.code(204).send(null)
    },
  )
}

/** Routes for signing in with a passkey, which counts as both factors. */
export const passkeySignInRoutes = (
  app: App,
  { passkeys, publicUrl, present }: PasskeyParts & { readonly present: PresentSession },
): void => {
  app.post(
    '/api/v1/session/passkey/options',
    {
      schema: {
        operationId: 'beginPasskeySignIn',
        summary: 'Begin a passkey sign-in or confirmation',
        description: 'Options for navigator.credentials.get() in this browser, valid for one attempt within 5 minutes.',
        response: { 200: PasskeyOptions },
      },
      config: SIGNING_IN,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const { options, token } = await passkeys.beginUse(pageOf(request, publicUrl))
      reply.header('set-cookie', challengeCookie(request, token, STEP_SECONDS))
      return { public_key: options }
    },
  )

  app.post(
    '/api/v1/session/passkey',
    {
      schema: {
        operationId: 'finishPasskeySignIn',
        summary: 'Sign in with a passkey',
        description: 'Counts as two factors, because the device verifies its user.',
        body: PasskeySignIn,
        response: { 201: Session },
      },
      config: SIGNING_IN,
    },
    async (request, reply) => {
      requireOwnPage(request)
      const page = pageOf(request, publicUrl)
      const answered = {
        token: challengeTokenIn(request),
        page,
        response: request.body.credential as CredentialResponse,
      }
      const outcome = await passkeys.signIn(answered, { browser: browserOf(request), waiting: stepTokenIn(request) })
      reply.header('set-cookie', cookiesOf(request, outcome))
      return reply.code(201).send(await present(outcome.opened.caller))
    },
  )
}
