import type { Caller } from '../../../domain/access.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { type PairedDelivery, type PairingStatus, pairingAt } from '../../../domain/pairing.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { DeploymentsService } from '../deployments/deployments.service.ts'
import type { PairingsStore, StoredPairing } from './pairings.store.ts'

export interface Pairing extends Omit<StoredPairing, 'status' | 'codeHash'> {
  readonly status: PairingStatus
  /** What the device reported last of the deployment. */
  readonly deviceState: PairedDelivery['device']
  readonly deploymentId: string | null
}

/** A person waits beside the device: what takes longer than this has failed. */
const DELIVERY_SECONDS = 15 * 60

/** What the session may do on behalf of its creator. */
export const onBehalfOf = ({ id, orgId }: Pick<StoredPairing, 'id' | 'orgId'>): Caller => ({
  keyId: id,
  orgId,
  deviceId: null,
  grants: ['devices:write', 'models:write'],
})

/** What a paired device gets: the deployment under the pairing's own id. */
export const createPairingDelivery = (parts: {
  readonly database: Database
  readonly store: Pick<PairingsStore, 'fail' | 'find'>
  readonly deployments: Pick<DeploymentsService, 'execute' | 'get' | 'targets'>
  readonly now: () => Date
}) => {
  const { database, store, deployments, now } = parts

  const deliveryOf = async (pairing: StoredPairing): Promise<PairedDelivery | null> => {
    if (pairing.status !== 'paired' || pairing.modelName === null) return null
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
      if (error instanceof ServiceError && error.code === 'not_found') return null
      throw error
    }
  }

  const deploy = async (pairing: StoredPairing): Promise<void> => {
    const { id, modelName, modelVersion, deviceId } = pairing
    if (modelName === null || deviceId === null) return
    const aim = { modelName, modelVersion: modelVersion ?? 'latest', devices: [deviceId], group: undefined }
    const how = { percentage: 100, strategy: 'canary', deadlineSeconds: DELIVERY_SECONDS } as const
    try {
      await deployments.execute(onBehalfOf(pairing), { ...aim, ...how }, { id, actor: null })
    } catch (error) {
      // A request that read the pairing at the same time has started it.
      if (error instanceof ServiceError && error.code === 'conflict') return
      if (!(error instanceof ServiceError)) throw error
      await store.fail(database.sql, id, error.message)
    }
  }

  /** The session as it stands, with what became of its deployment; one that a crash has kept from starting starts now. */
  const withState = async (pairing: StoredPairing): Promise<Pairing> => {
    let kept = pairing
    let delivery = await deliveryOf(kept)
    if (kept.status === 'paired' && kept.modelName !== null && delivery === null) {
      // The service ended between the claim and the deployment.
      await deploy(kept)
      kept = (await store.find(database.sql, kept.id)) ?? kept
      delivery = await deliveryOf(kept)
    }
    const { codeHash: _, ...rest } = kept
    return {
      ...rest,
      ...pairingAt(kept, delivery, now()),
      deviceState: delivery?.device ?? null,
      deploymentId: delivery === null ? null : kept.id,
    }
  }

  return { deploy, withState }
}
