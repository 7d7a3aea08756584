import type { Caller } from '../../../domain/access.ts'
import { isNotFound, ServiceError } from '../../../domain/errors.ts'
import { type PairedDelivery, type PairingStatus, pairingAt } from '../../../domain/pairing.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { DeploymentsService } from '../deployments/deployments.service.ts'
import { pairingsStore, type StoredPairing } from './pairings.store.ts'

export interface Pairing extends Omit<StoredPairing, 'status' | 'codeHash'> {
  readonly status: PairingStatus
  /** The device's last report on the deployment. */
  readonly deviceState: PairedDelivery['device']
  readonly deploymentId: string | null
}

/** A person is waiting at the device: a delivery that takes longer has failed. */
const DELIVERY_SECONDS = 15 * 60

/** Returns the caller that the session acts as, on behalf of its creator. */
export const onBehalfOf = ({ id, orgId }: Pick<StoredPairing, 'id' | 'orgId'>): Caller => ({
  keyId: id,
  orgId,
  deviceId: null,
  grants: ['devices:write', 'models:write'],
})

/** Longer than a claim takes: one that is still under way after this was interrupted. */
const CLAIM_MS = 60 * 1000

const INTERRUPTED = 'The service stopped while the device was being paired. Create a new code.'

/** Shows a device that is being admitted as paired. */
export const pairingState = (pairing: StoredPairing, delivery: PairedDelivery | null, now: Date) => {
  const { status, reason, expiresAt } = pairing
  return pairingAt({ status: status === 'claiming' ? 'paired' : status, reason, expiresAt }, delivery, now)
}

/** Delivers the model to a paired device: the deployment has the pairing's id. */
export const createPairingDelivery = (
  { database, log, now }: Context,
  {
    devices,
    deployments,
  }: {
    readonly devices: Pick<DevicesService, 'get'>
    readonly deployments: Pick<DeploymentsService, 'execute' | 'get' | 'targets'>
  },
) => {
  /** Internal ids of the devices that this process has admitted but not yet finished, by pairing. */
  const unfinished = new Map<string, string>()

  const deliveryOf = async (pairing: StoredPairing): Promise<PairedDelivery | null> => {
    if (!isTaken(pairing) || pairing.modelName === null) return null
    const caller = onBehalfOf(pairing)
    try {
      const deployment = await deployments.get(caller, pairing.id)
      const { devices: targets } = await deployments.targets(caller, pairing.id, { limit: 1, offset: 0 })
      const report = targets[0]?.report ?? null
      return {
        deployment: deployment.status,
        deploymentReason: deployment.reason,
        device: report?.state ?? null,
        deviceReason: report?.reason ?? null,
      }
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }

  /** Starts the deployment to exactly this device. Returns the reason if it cannot. */
  const deploy = async (pairing: StoredPairing, onlyDevice: string): Promise<string | null> => {
    const { id, modelName, modelVersion, deviceId } = pairing
    if (modelName === null || deviceId === null) return null
    const selector = {
      modelName,
      modelVersion: modelVersion ?? 'latest',
      devices: [deviceId],
      onlyDevice,
      group: undefined,
    }
    const how = { percentage: 100, strategy: 'canary', deadlineSeconds: DELIVERY_SECONDS } as const
    try {
      await deployments.execute(onBehalfOf(pairing), { ...selector, ...how }, { id, actor: null })
      return null
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      // A request that read the pairing at the same time may have started it.
      if (error.code === 'conflict' && (await deliveryOf(pairing)) !== null) return null
      return error.message
    }
  }

  /** Does everything that remains once the device is admitted. May be repeated, also concurrently. */
  const finish = async (pairing: StoredPairing, device: string): Promise<StoredPairing> => {
    const settled = await pairingsStore.settle(database.sql, pairing, await deploy(pairing, device))
    unfinished.delete(pairing.id)
    return settled ?? pairing
  }

  /** Returns the internal id of the device that took the code, as far as the pairing identifies it, or why there is none. */
  const findDevice = async (pairing: StoredPairing): Promise<{ id: string } | { reason: string }> => {
    const name = pairing.deviceId ?? ''
    try {
      return await devices.get(onBehalfOf(pairing), name, { near: pairing.orgId })
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return {
        reason: isNotFound(error)
          ? `Device '${name}' does not exist anymore. Create a new code, and pair it again.`
          : `Several organizations have a device '${name}'. Create a new code for the organization of the intended device.`,
      }
    }
  }

  /** Completes what an outage or a crash has prevented, but not what another request is about to do. */
  const recover = async (pairing: StoredPairing): Promise<StoredPairing> => {
    const admitted = unfinished.get(pairing.id)
    if (admitted !== undefined) return finish({ ...pairing, status: 'paired' }, admitted)
    if (pairing.status === 'claiming') {
      if (now().getTime() < pairing.expiresAt.getTime() + CLAIM_MS) return pairing
      return (await pairingsStore.settle(database.sql, pairing, INTERRUPTED)) ?? pairing
    }
    const found = await findDevice(pairing)
    if ('id' in found) return finish(pairing, found.id)
    return (await pairingsStore.settle(database.sql, pairing, found.reason)) ?? pairing
  }

  const present = (pairing: StoredPairing, delivery: PairedDelivery | null): Pairing => {
    const { codeHash: _, ...rest } = pairing
    return {
      ...rest,
      ...pairingState(pairing, delivery, now()),
      deviceState: delivery?.device ?? null,
      deploymentId: delivery === null ? null : pairing.id,
    }
  }

  return {
    /** Returns the session with the state of its deployment, which this starts if it has not started yet. */
    async withState(pairing: StoredPairing): Promise<Pairing> {
      const delivery = await deliveryOf(pairing)
      const isComplete =
        !isTaken(pairing) || delivery !== null || (pairing.status === 'paired' && pairing.modelName === null)
      if (isComplete && !unfinished.has(pairing.id)) return present(pairing, delivery)
      const recovered = await recover(pairing)
      return present(recovered, await deliveryOf(recovered))
    },

    /** Continues with an admitted device. Never throws: its key must reach it, and the next read completes the rest. */
    async carryOn(pairing: StoredPairing, device: string): Promise<Pairing> {
      unfinished.set(pairing.id, device)
      let kept: StoredPairing = { ...pairing, status: 'paired' }
      try {
        kept = await finish(pairing, device)
        return present(kept, await deliveryOf(kept))
      } catch (error) {
        log.error(
          { pairing_id: pairing.id, err: error },
          'a paired device did not get its model yet; it will be retried',
        )
        // Lets other processes continue with it too.
        if (unfinished.has(pairing.id)) await pairingsStore.settle(database.sql, pairing, null).catch(() => undefined)
        return present(kept, null)
      }
    },
  }
}

const isTaken = ({ status }: StoredPairing): boolean => status === 'claiming' || status === 'paired'
