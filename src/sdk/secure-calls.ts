import type { operations } from '../client/api.gen.ts'
import { type ApiClient, ApiError } from '../client/client.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import type { CallOptions, SecureCalls, SecureState } from './device.ts'
import type { Transport } from './transport.ts'

type Body = operations['getSecureRound']['responses'][200]['content']['application/json']

const WAIT_SECONDS = 25

/** The steps of a secure round over HTTP. A message may be sent again if its response was lost. */
export const secureCalls = (transport: Transport): SecureCalls => {
  const paramsOf = (roundId: string) => ({ path: { round_id: roundId } })

  const state: SecureCalls['state'] = async (roundId, options = {}) => {
    const known = options.while
    const query = known === undefined ? {} : { wait_seconds: WAIT_SECONDS, known_status: known }
    const params = { ...paramsOf(roundId), query }
    const path = '/api/v1/training/rounds/{round_id}/secure'
    const timeoutMs = 30_000 + WAIT_SECONDS * 1000
    const ask = transport.call(['secure round', 'settings'], (api, signal) => api.GET(path, { params, signal }), {
      ...options,
      timeoutMs,
    })
    return stateOf(await ask)
  }

  /** An earlier attempt may have arrived although its response was lost. */
  const stepOf = async (
    roundId: string,
    status: SecureStatus,
    what: string,
    send: Parameters<typeof transport.call<Body>>[1],
    options: CallOptions = {},
  ) => {
    try {
      return stateOf(await transport.call([what, 'settings'], send, options))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      const found = await state(roundId, options)
      const wasReceived = found.status === status ? found.answered : found.counted && found.status !== 'failed'
      if (wasReceived) return found
      throw error
    }
  }

  return {
    state,

    sendKeys: (roundId, message, options) => {
      const body = { encryption_key: message.encryptionKey, masking_key: message.maskingKey }
      const path = '/api/v1/training/rounds/{round_id}/secure/keys'
      const params = paramsOf(roundId)
      const send = (api: ApiClient, signal: AbortSignal) => api.POST(path, { params, body, signal })
      return stepOf(roundId, 'advertising', 'secure keys', send, options)
    },

    sendShares: (roundId, message, options) => {
      const body = { seed_commitment: message.seedCommitment, sealed: message.sealed }
      const path = '/api/v1/training/rounds/{round_id}/secure/shares'
      const params = paramsOf(roundId)
      const send = (api: ApiClient, signal: AbortSignal) => api.POST(path, { params, body, signal })
      return stepOf(roundId, 'sharing', 'secure shares', send, options)
    },

    sendUnmask: (roundId, message, options) => {
      const body = { self_masks: message.selfMasks, masking_keys: message.maskingKeys }
      const path = '/api/v1/training/rounds/{round_id}/secure/unmask'
      const params = paramsOf(roundId)
      const send = (api: ApiClient, signal: AbortSignal) => api.POST(path, { params, body, signal })
      return stepOf(roundId, 'unmasking', 'secure unmasking', send, options)
    },
  }
}

const stateOf = (body: Body): SecureState => ({
  status: body.status,
  reason: body.reason,
  settings: {
    devices: body.settings.devices,
    threshold: body.settings.threshold,
    range: body.settings.range,
    maxWeight: body.settings.max_weight,
  },
  device: body.device_id,
  counted: body.counted,
  answered: body.answered,
  roster:
    body.roster &&
    Object.fromEntries(
      Object.entries(body.roster).map(([device, keys]) => [
        device,
        { encryptionKey: keys.encryption_key, maskingKey: keys.masking_key },
      ]),
    ),
  shares: body.shares,
  delivered: body.delivered,
})
