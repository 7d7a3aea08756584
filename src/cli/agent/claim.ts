import { generateDeviceId, type Identity, openAgentState } from '../../agent/agent-state.ts'
import type { Platform } from '../../domain/device.ts'
import { connect } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'

export interface Claim {
  readonly baseUrl: string
  readonly code: string
  /** null: the device that this machine uses by default. */
  readonly deviceId: string | null
  readonly platform: Platform
  readonly deviceName: string | null
}

/** Claims a pairing code for this machine and stores the device key from the response. @throws Failure */
export const claimCode = async (claim: Claim, { io, out, home }: Session) => {
  const { baseUrl, code, platform, deviceName } = claim
  const state = await openAgentState(home.folder, baseUrl, claim.deviceId)
  const known = await state.load()
  const connection = connect({
    baseUrl,
    signal: io.signal,
    warn: out.warn,
    ...(known && { apiKey: known.apiKey, keySource: home.folder }),
  })
  const claimed = await connection.request((client) =>
    client.POST('/api/v1/pairings/claim', {
      body: {
        code,
        device_id: known?.deviceId ?? claim.deviceId ?? generateDeviceId(),
        platform,
        ...(deviceName !== null && { device_name: deviceName }),
      },
    }),
  )
  const apiKey = claimed.api_key ?? known?.apiKey
  if (claimed.device_id === null || apiKey === undefined)
    throw new Failure(`${baseUrl} did not give this device a key.`)
  const identity: Identity = { deviceId: claimed.device_id, apiKey }
  if (claimed.api_key !== null) await state.save(identity)
  return { claimed, identity }
}
