import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { present } from './secure-rounds.present.ts'
import { KeysBody, RoundParams, SecureState, SecureStateQuery, SharesBody, UnmaskBody } from './secure-rounds.schema.ts'
import type { SecureRoundsService } from './secure-rounds.service.ts'

/** The steps of a secure round, except submitting the masked update, which uses the same route as any other update. */
export const secureRoundsRoutes = (app: App, secure: SecureRoundsService): void => {
  const config = {
    access: ['training:write', 'self'],
    errors: ['bad_request', 'not_found', 'conflict'],
  } satisfies RouteConfig

  app.get(
    '/api/v1/training/rounds/:round_id/secure',
    {
      schema: {
        operationId: 'getSecureRound',
        summary: 'Get the state of a secure round',
        description: 'The state of a secure round, and what the calling device needs for its next step.',
        params: RoundParams,
        querystring: SecureStateQuery,
        response: { 200: SecureState },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const { wait_seconds, known_status } = request.query
      const wait = { ms: wait_seconds * 1000, known: known_status, gone: gone.signal }
      return present(await secure.view(callerOf(request), request.params.round_id, wait))
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/secure/keys',
    {
      schema: {
        operationId: 'advertiseSecureKeys',
        summary: "Submit a device's public keys",
        description: 'Step 1 of a secure round: a device publishes its public keys.',
        params: RoundParams,
        body: KeysBody,
        response: { 200: SecureState },
      },
      config,
    },
    async (request) => {
      const { encryption_key: encryptionKey, masking_key: maskingKey } = request.body
      const message = { encryptionKey, maskingKey }
      return present(await secure.advertise(callerOf(request), request.params.round_id, message))
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/secure/shares',
    {
      schema: {
        operationId: 'dealSecureShares',
        summary: 'Submit encrypted shares',
        description: 'Step 2 of a secure round: a device sends encrypted shares of its secrets to the others.',
        params: RoundParams,
        body: SharesBody,
        response: { 200: SecureState },
      },
      config,
    },
    async (request) => {
      const { seed_commitment: seedCommitment, sealed } = request.body
      return present(await secure.deal(callerOf(request), request.params.round_id, { seedCommitment, sealed }))
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/secure/unmask',
    {
      schema: {
        operationId: 'revealSecureShares',
        summary: 'Submit shares for unmasking',
        description:
          'Step 4 of a secure round: a device reveals one share for every device that sent shares, including its own, so that the sum can be unmasked.',
        params: RoundParams,
        body: UnmaskBody,
        response: { 200: SecureState },
      },
      config,
    },
    async (request) => {
      const { self_masks: selfMasks, masking_keys: maskingKeys } = request.body
      return present(await secure.unmask(callerOf(request), request.params.round_id, { selfMasks, maskingKeys }))
    },
  )
}
