import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../../domain/access.ts'
import { forbidden, ServiceError } from '../../../domain/errors.ts'
import { isFromOwnPage, optionalCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { DEVICE_LOGIN_PAGE_POLICY, deviceLoginPage } from './device-login.page.ts'
import type { DeviceLoginsService, DeviceLogin as Login } from './device-logins.service.ts'
import {
  DecideDeviceLoginBody,
  DeviceCodeBody,
  DeviceLogin,
  DeviceLoginStart,
  StartDeviceLoginBody,
  Token,
  UserCodeBody,
} from './login.schema.ts'

interface Parts {
  readonly deviceLogins: DeviceLoginsService
  readonly needsKey: boolean
  readonly publicUrl: string | null
  readonly guesses: Guesses
}

/** Returns the approver: any holder of a key, but a browser only from a page of this service. @throws forbidden */
const approverOf = async (request: FastifyRequest): Promise<Caller | null> => {
  if (request.headers.authorization === undefined && !isFromOwnPage(request)) {
    throw forbidden('Only a page of this service can approve a sign-in without an API key.')
  }
  return optionalCallerOf(request)
}

/** Counts guesses in the database, and thus over all processes. */
interface Guesses {
  /** @throws rate_limited */
  attemptCode(names: readonly string[]): Promise<readonly string[]>
  takeBack(counted: readonly string[]): Promise<void>
}

/** Limits the guessing of codes: unknown codes count against the address and the caller that sent them. */
const guardGuesses =
  (guesses: Guesses) =>
  async (request: FastifyRequest, caller: Caller | null, find: () => Promise<Login | null>): Promise<Login> => {
    const who = caller === null ? [] : [`caller ${caller.personId ?? caller.rateKeyId ?? caller.keyId}`]
    const counted = await guesses.attemptCode([`address ${request.ip}`, ...who])
    const found = await find().catch(async (error: unknown) => {
      await guesses.takeBack(counted)
      throw error
    })
    if (found === null)
      throw new ServiceError(
        'not_found',
        'No sign-in is waiting for this code: it is mistyped, used, or older than 10 minutes.',
      )
    await guesses.takeBack(counted)
    return found
  }

const present = (login: Login) => ({
  client_name: login.clientName,
  address: login.address,
  created_at: login.createdAt.toISOString(),
  expires_at: login.expiresAt.toISOString(),
  decision: login.decision,
})

const page = (app: App, needsKey: boolean): void => {
  app.get(
    '/login/device',
    { schema: { hide: true }, config: { access: 'public' } satisfies RouteConfig },
    async (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', DEVICE_LOGIN_PAGE_POLICY)
        .send(deviceLoginPage(needsKey)),
  )
}

export const deviceLoginsRoutes = (app: App, { deviceLogins, needsKey, publicUrl, guesses }: Parts): void => {
  const guarded = guardGuesses(guesses)
  page(app, needsKey)

  app.post(
    '/api/v1/login/device',
    {
      schema: {
        operationId: 'startDeviceLogin',
        summary: 'Start a sign-in without a browser',
        description: 'Device authorization (RFC 8628): a person approves the user code in any browser.',
        body: StartDeviceLoginBody,
        response: { 201: DeviceLoginStart },
      },
      config: { access: 'public' } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { deviceCode, userCode } = await deviceLogins.start(request.body.client_name, request.ip)
      const address = `${publicUrl ?? `${request.protocol}://${request.host}`}/login/device`
      return reply.code(201).send({
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: address,
        verification_uri_complete: `${address}?user_code=${userCode}`,
        expires_in: deviceLogins.lifetimeSeconds,
        interval: deviceLogins.intervalSeconds,
      })
    },
  )

  app.post(
    '/api/v1/login/device/token',
    {
      schema: {
        operationId: 'exchangeDeviceCode',
        summary: 'Exchange an approved device code for a key',
        description:
          'Until the code is approved, the response is 400 with the error authorization_pending, slow_down (wait 5 s longer ' +
          'between requests), expired_token, or access_denied.',
        body: DeviceCodeBody,
        response: { 200: Token },
      },
      config: { access: 'public', errors: ['unauthorized'] } satisfies RouteConfig,
    },
    async (request) => {
      const { key, token } = await deviceLogins.exchange(request.body.device_code)
      return { api_key: token, org_id: key.orgId, expires_at: key.expiresAt?.toISOString() ?? null }
    },
  )

  app.post(
    '/api/v1/login/device/request',
    {
      schema: {
        operationId: 'getDeviceLogin',
        summary: 'Show the sign-in that a code belongs to',
        body: UserCodeBody,
        response: { 200: DeviceLogin },
      },
      config: { access: 'public', errors: ['unauthorized', 'forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = await approverOf(request)
      return present(await guarded(request, caller, () => deviceLogins.find(caller, request.body.user_code)))
    },
  )

  app.post(
    '/api/v1/login/device/decision',
    {
      schema: {
        operationId: 'decideDeviceLogin',
        summary: 'Approve or deny a sign-in by its code',
        description:
          "The key gets the approver's permissions. A person's approval creates a personal key that expires after 90 days, or earlier where key_lifetime_days says so.",
        body: DecideDeviceLoginBody,
        response: { 200: DeviceLogin },
      },
      config: { access: 'public', errors: ['unauthorized', 'forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = await approverOf(request)
      const { user_code, approve } = request.body
      return present(await guarded(request, caller, () => deviceLogins.decide(caller, user_code, approve)))
    },
  )
}
