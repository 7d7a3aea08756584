import { ApiError } from '../client/client.ts'
import { badRequest, conflict } from '../domain/errors.ts'
import type { Device } from '../sdk/device.ts'
import { type AgentState, inventDeviceId } from './agent-state.ts'

export interface RegistrationOptions {
  readonly baseUrl: string
  readonly deviceId?: string
  readonly apiKey?: string
  readonly signal: AbortSignal
  readonly log: (message: string) => void
  readonly state: AgentState
  readonly connect: (deviceId: string, apiKey?: string) => Device
}

const INVENTED_NAMES = 3

/**
 * The device this agent is: by the key it was given, by the one it remembers, or newly registered and remembered. Throws
 * conflict when the name is taken and its key is not here, and whatever the service answers.
 */
export const signIn = async (options: RegistrationOptions): Promise<Device> => {
  const { baseUrl, deviceId, apiKey, signal, log, state, connect } = options
  if (apiKey !== undefined) {
    if (deviceId === undefined) throw badRequest('A device key belongs to one device: also give its device id.')
    return connect(deviceId, apiKey)
  }
  const known = await state.load()
  if (known !== null) return connect(known.deviceId, known.apiKey)
  for (let names = 1; ; names++) {
    const device = connect(deviceId ?? inventDeviceId())
    try {
      const { apiKey: key } = await device.register({ signal })
      await state.save({ deviceId: device.deviceId, apiKey: key })
      log(`Registered with ${baseUrl} as ${device.deviceId}.`)
      return device
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      // A name of our own making may be taken because the answer to an earlier try was lost; its key went with it.
      if (deviceId === undefined && names < INVENTED_NAMES) continue
      throw conflict(
        `Device '${device.deviceId}' is already registered with ${baseUrl}, and its key is not on this machine. ` +
          'Choose another device id, or give the key that this device was registered with.',
      )
    }
  }
}
