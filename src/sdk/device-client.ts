import { ApiError } from '../client/client.ts'
import { hasCredentials, withoutCredentials } from '../domain/address-credentials.ts'
import { badRequest } from '../domain/errors.ts'
import { assignmentOf } from './assignment.ts'
import { deliveryCalls } from './delivery-calls.ts'
import type { Device, DeviceOptions } from './device.ts'
import { sleep } from './retry.ts'
import { roundCalls } from './round-calls.ts'
import { secureCalls } from './secure-calls.ts'
import { createTransport, pageLocation } from './transport.ts'

/** Browsers require fetch to be called on the global object. */
const globalFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init)

/**
 * Returns the address without a slash at its end.
 * @throws bad_request for an address to which nothing can be sent: retries would only delay the error
 */
const requireAddress = (baseUrl: string): string => {
  let url: URL | null = null
  try {
    // Pages may name a path of their own origin.
    if (typeof baseUrl === 'string') url = new URL(baseUrl, pageLocation()?.href)
  } catch {}
  if (url === null || !['http:', 'https:'].includes(url.protocol) || /[?#]/.test(baseUrl)) {
    const shown = withoutCredentials(String(baseUrl))
    throw badRequest(`baseUrl is not the address of a service: '${shown}'. It must look like http://127.0.0.1:8000.`)
  }
  if (hasCredentials(url)) throw badRequest('baseUrl contains a user name or password. Leave it out.')
  return baseUrl.replace(/\/+$/, '')
}

/**
 * Returns how far the other clock is certainly ahead, if its `reading` was taken between `from` and `to` of ours: the smallest
 * difference that explains the reading, so 0 if the clocks may agree.
 */
const surelyAhead = (reading: number, from: number, to: number): number => {
  if (Number.isNaN(reading)) return 0
  return reading > to ? reading - to : Math.min(0, reading - from)
}

/** Explains why the name is taken if an earlier attempt may have registered it, and the key was lost with the response. */
const withLostKey = (error: unknown, deviceId: string, attempts: number): unknown => {
  if (!(error instanceof ApiError) || error.status !== 409 || attempts < 2) return error
  const message =
    `A device with device_id '${deviceId}' is already registered: possibly by an earlier attempt of this call, whose response was ` +
    'lost, and the key with it. Choose another device_id, or erase the device (svc devices erase) and register again.'
  return new ApiError(409, { error: 'conflict', message })
}

/**
 * Creates a device of the service at `baseUrl`. Sends nothing until `register`, or with an `apiKey`. Works in browsers.
 * @throws bad_request if `baseUrl` is not an address
 */
export const createDevice = (options: DeviceOptions): Device => {
  const { deviceId } = options
  let key = options.apiKey ?? null
  const runtime = {
    sleep: options.sleep ?? sleep,
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
    log: options.log ?? (() => undefined),
  }
  const transport = createTransport({
    baseUrl: requireAddress(options.baseUrl),
    fetch: options.fetch ?? globalFetch,
    directDownloads: options.directDownloads ?? false,
    bearer: () => key ?? options.enrollmentToken ?? null,
    runtime,
  })
  const training = options.trains === undefined ? {} : { trains: options.trains }
  let clockLeadMs = 0
  /** Sent with the first heartbeat, because they may have changed since the device was registered. */
  let unsent = options.capabilities
  return {
    deviceId,

    register: async (callOptions = {}) => {
      const { platform, capabilities, orgId } = options
      const body = {
        device_id: deviceId,
        ...(orgId !== undefined && { org_id: orgId }),
        ...(platform && { platform }),
        ...(capabilities && { capabilities }),
        ...training,
      }
      let attempts = 0
      const registered = transport.call(
        ['registration', 'api_key'],
        (api, signal) => {
          attempts++
          return api.POST('/api/v1/devices/register', { body, signal })
        },
        callOptions,
      )
      const { id, api_key } = await registered.catch((error: unknown) => {
        throw withLostKey(error, deviceId, attempts)
      })
      key = api_key
      unsent = undefined
      return { id, apiKey: api_key }
    },

    heartbeat: async (metrics, options = {}) => {
      const { waitSeconds = 0, status, knownAssignments: known } = options
      const capabilities = unsent && { capabilities: unsent }
      const body = { ...(status && { status }), ...(metrics && { metrics }), ...capabilities, ...training }
      const params = {
        path: { device_id: deviceId },
        query: { wait_seconds: waitSeconds, ...(known !== undefined && { known_assignments: known }) },
      }
      let sentAt = runtime.now()
      const response = await transport.call(
        ['heartbeat', 'last_heartbeat'],
        (api, signal) => {
          sentAt = runtime.now()
          return api.PUT('/api/v1/devices/{device_id}/heartbeat', { params, body, signal })
        },
        { ...options, timeoutMs: (waitSeconds + 30) * 1000 },
      )
      unsent = undefined
      clockLeadMs = surelyAhead(Date.parse(response.last_heartbeat), sentAt, runtime.now())
      const { assignments = [], assignments_tag: tag } = response
      const isKnown = known !== undefined && (tag === undefined || tag === known)
      return {
        pendingRoundId: response.pending_round_id ?? null,
        pendingEvaluationId: response.pending_evaluation_round_id ?? null,
        assignments: isKnown ? null : assignments.map(assignmentOf),
        assignmentsTag: tag ?? known ?? null,
        nextHeartbeatSeconds: response.next_heartbeat_seconds ?? null,
        message: response.message,
      }
    },

    ...roundCalls(transport, () => clockLeadMs),
    secure: secureCalls(transport),
    ...deliveryCalls(transport, deviceId),
  }
}
