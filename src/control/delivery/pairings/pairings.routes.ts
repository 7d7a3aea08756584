import { badRequest, rateLimited, ServiceError } from '../../../domain/errors.ts'
import { callerOf, optionalCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { createRateLimiter } from '../../../platform/http/rate-limiter.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { pairingPage } from './pairing.page.ts'
import { ClaimBody, Claimed, CreatePairingBody, NewPairing, Pairing, PairingParams } from './pairings.schema.ts'
import type { Pairing as PairingNow, PairingsService } from './pairings.service.ts'

/** Wrong codes that an address may send in a minute: more than a person mistypes, and too few for guessing. */
const WRONG_CODES_PER_MINUTE = 10

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

export const pairingsRoutes = (
  app: App,
  pairings: PairingsService,
  { now, publicUrl }: { readonly now: () => Date; readonly publicUrl: string | null },
): void => {
  const tags = ['pairings']
  const wrongCodes = createRateLimiter({ perMinute: WRONG_CODES_PER_MINUTE, now: () => now().getTime() })

  app.post(
    '/api/v1/pairings',
    {
      schema: {
        operationId: 'createPairing',
        summary: 'Create a pairing code',
        description:
          'Create a code that pairs one device within five minutes, and choose the model that the device gets.',
        tags,
        body: CreatePairingBody,
        response: { 201: NewPairing },
      },
      config: { access: 'devices:write' } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { model_name, model_version, platform, org_id } = request.body
      if (model_name === undefined && model_version !== undefined)
        throw badRequest('model_version: name the model too (model_name), or leave it out.')
      const requested = { modelName: model_name, modelVersion: model_version ?? 'latest', platform, orgId: org_id }
      const { pairing, code } = await pairings.create(callerOf(request), requested)
      return reply.code(201).send({ ...present(pairing), code, service_url: publicUrl })
    },
  )

  app.get(
    '/api/v1/pairings/:pairing_id',
    {
      schema: {
        operationId: 'getPairing',
        summary: 'Get a pairing',
        description: 'The state of a pairing, from waiting for the device until the model is active on it.',
        tags,
        params: PairingParams,
        response: { 200: Pairing },
      },
      config: { access: 'devices:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await pairings.get(callerOf(request), request.params.pairing_id)),
  )

  app.post(
    '/api/v1/pairings/claim',
    {
      schema: {
        operationId: 'claimPairing',
        summary: 'Claim a pairing code',
        description:
          "Claim a code as a device. A request without the device's own key registers the device and returns its key.",
        tags,
        body: ClaimBody,
        response: { 200: Claimed },
      },
      config: {
        access: 'public',
        errors: ['unauthorized', 'forbidden', 'not_found', 'conflict', 'rate_limited'],
      } satisfies RouteConfig,
    },
    async (request) => {
      const { allowed, retryAfterSeconds } = wrongCodes.look(request.ip)
      if (!allowed) throw rateLimited(retryAfterSeconds)
      const { code, device_id, platform, device_name } = request.body
      const caller = await optionalCallerOf(request)
      try {
        const claim = { code, deviceId: device_id, platform: platform ?? 'unknown', deviceName: device_name }
        const { pairing, apiKey } = await pairings.claim(caller, claim)
        return { ...present(pairing), api_key: apiKey }
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_found') wrongCodes.take(request.ip)
        throw error
      }
    },
  )

  // The QR code contains this address, because a phone's camera opens addresses.
  app.get(
    '/pair',
    { schema: { hide: true }, config: { access: 'public' } satisfies RouteConfig },
    async (request, reply) => {
      const { allowed, retryAfterSeconds } = wrongCodes.look(request.ip)
      if (!allowed) throw rateLimited(retryAfterSeconds)
      const code = String((request.query as { code?: unknown }).code ?? '')
      const isOpen = await pairings.isOpen(code)
      if (!isOpen) wrongCodes.take(request.ip)
      return reply
        .code(isOpen ? 200 : 404)
        .type('text/html; charset=utf-8')
        .header('content-security-policy', PAGE_POLICY)
        .send(pairingPage(isOpen ? code : null))
    },
  )
}

const present = (pairing: PairingNow) => ({
  pairing_id: pairing.id,
  org_id: pairing.orgId,
  status: pairing.status,
  reason: pairing.reason,
  model_name: pairing.modelName,
  model_version: pairing.modelVersion,
  device_id: pairing.deviceId,
  platform: pairing.platform,
  device_state: pairing.deviceState,
  deployment_id: pairing.deploymentId,
  created_at: pairing.createdAt.toISOString(),
  expires_at: pairing.expiresAt.toISOString(),
})
