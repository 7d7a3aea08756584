import { ApiError } from '../client/client.ts'
import { badRequest, conflict } from '../domain/errors.ts'
import type { Device } from '../sdk/device.ts'
import { isTransient } from '../sdk/retry.ts'
import { type AgentState, generateDeviceId } from './agent-state.ts'
import { untilPossible } from './disk-fault.ts'

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

/** True if the service refuses the key. A proxy's 401 is a NetworkError. */
export const isKeyRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 401

/** True if the service does not know this device anymore. A heartbeat that is held while the device is erased gets a 404. */
export const isDeviceUnknown = (error: unknown): boolean =>
  isKeyRefused(error) || (error instanceof ApiError && error.status === 404)

const registerAs = async (device: Device, { baseUrl, signal, log, state }: RegistrationOptions): Promise<Device> => {
  const { apiKey } = await device.register({ signal })
  // The service shows the key only once.
  const save = () => state.save({ deviceId: device.deviceId, apiKey })
  await untilPossible(save, `The key of ${device.deviceId} could not be stored`, signal, log)
  log(`Registered with ${baseUrl} as ${device.deviceId}.`)
  return device
}

/**
 * Returns this agent's device: with the given key, with the remembered one, or newly registered and remembered.
 * @throws conflict if the name is taken and its key is not here, and any other error of the service
 */
export const signIn = async (options: RegistrationOptions): Promise<Device> => {
  const { baseUrl, deviceId, apiKey, state, connect } = options
  if (apiKey !== undefined) {
    if (deviceId === undefined) throw badRequest('A device key belongs to one device: also give its device id.')
    return connect(deviceId, apiKey)
  }
  const known = await state.load()
  if (known !== null) return connect(known.deviceId, known.apiKey)
  for (let names = 1; ; names++) {
    const device = connect(deviceId ?? generateDeviceId())
    try {
      return await registerAs(device, options)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      // A generated name may be taken because the response to an earlier try was lost, and its key with it.
      if (deviceId === undefined && names < INVENTED_NAMES) continue
      throw conflict(
        `Device '${device.deviceId}' is already registered with ${baseUrl}, and its key is not on this machine. ` +
          'Choose another device id, or give the key that this device was registered with.',
      )
    }
  }
}

/**
 * Handles a key that the service refuses, or an erased device: registers the device again under its name, which a reinstalled service accepts.
 * Returns null if that is not possible. The old key then remains, because the service may accept it again, for example after it
 * temporarily used another database. A refusal is logged only once.
 */
export const createRenewal = (options: RegistrationOptions): ((deviceId: string) => Promise<Device | null>) => {
  const { baseUrl, signal, log, connect } = options
  let lastMessage: string | null = null
  return async (deviceId) => {
    if (lastMessage === null) {
      log(
        `The service refuses the key of ${deviceId}: it was revoked, the device was erased, or the service was reinstalled. Registering again.`,
      )
      lastMessage = ''
    }
    try {
      const device = await registerAs(connect(deviceId), options)
      lastMessage = null
      return device
    } catch (error) {
      signal.throwIfAborted()
      if (!isTransient(error) && !(error instanceof ApiError)) throw error
      const { message } = error as Error
      if (isTransient(error)) log(message)
      else if (message !== lastMessage) {
        lastMessage = message
        log(
          `${baseUrl} does not let ${deviceId} register again: ${message} The agent keeps its key and will try it again. ` +
            'If the key was revoked, choose another device id, or give a valid key of this device.',
        )
      }
      return null
    }
  }
}
