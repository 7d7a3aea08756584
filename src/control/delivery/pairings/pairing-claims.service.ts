import type { Caller } from '../../../domain/access.ts'
import type { Platform } from '../../../domain/device.ts'
import { badRequest, conflict, forbidden, ServiceError } from '../../../domain/errors.ts'
import { pairingAt } from '../../../domain/pairing.ts'
import type { DevicesService, StoredDevice } from '../../fleet/devices/devices.service.ts'
import { onBehalfOf } from './pairing-delivery.service.ts'
import type { StoredPairing } from './pairings.store.ts'

export interface Claim {
  readonly code: string
  readonly deviceId: string | undefined
  readonly platform: Platform
  readonly deviceName: string | undefined
}

/** Who may take a code, and as which device. */
export const createPairingClaims = (parts: {
  readonly devices: Pick<DevicesService, 'register' | 'owner'>
  readonly now: () => Date
}) => {
  const { devices, now } = parts

  /** The device that takes the code: the one whose key was sent, else one that is registered now. */
  const admit = async (caller: Caller | null, pairing: StoredPairing, claim: Claim) => {
    const known = await ownDevice(caller, pairing, claim)
    if (known !== null) return { deviceId: known.deviceId, apiKey: null }
    const { device, token } = await devices.register(onBehalfOf(pairing), {
      // What pairs is there to run models; a program that trains says so in its heartbeats.
      trains: false,
      deviceId: claim.deviceId ?? '',
      platform: claim.platform,
      capabilities: claim.deviceName === undefined ? {} : { device_name: claim.deviceName },
      orgId: pairing.orgId ?? undefined,
    })
    return { deviceId: device.deviceId, apiKey: token }
  }

  const ownDevice = async (
    caller: Caller | null,
    pairing: StoredPairing,
    { deviceId }: Claim,
  ): Promise<StoredDevice | null> => {
    if (caller === null || caller.deviceId === null) {
      if (deviceId !== undefined) return null
      throw badRequest("device_id is required, unless the device's own key is sent.")
    }
    const device = await devices.owner(caller)
    if (deviceId !== undefined && deviceId !== device.deviceId) return null
    if (pairing.orgId !== null && device.orgId !== pairing.orgId) {
      throw forbidden('This device belongs to another organization than the code.')
    }
    return device
  }

  const requireOpen = (pairing: StoredPairing | null): StoredPairing => {
    if (pairing === null) {
      throw new ServiceError('not_found', 'This pairing code is unknown. Check it, or create a new one.')
    }
    const { status } = pairingAt(pairing, null, now())
    if (status === 'waiting') return pairing
    throw conflict(
      status === 'expired'
        ? 'This pairing code has expired: codes are valid for 5 minutes. Create a new one.'
        : 'This pairing code has been used: each code pairs one device. Create a new one.',
    )
  }

  /** Why a code cannot be taken that was open a moment ago. */
  const refusalOf = (pairing: StoredPairing | null): Error => {
    try {
      requireOpen(pairing)
    } catch (error) {
      return error as Error
    }
    return conflict('This pairing code is being used by another request. Try again.')
  }

  return { admit, ownDevice, requireOpen, refusalOf }
}
