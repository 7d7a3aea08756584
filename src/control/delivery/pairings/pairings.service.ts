import { createHash, randomBytes } from 'node:crypto'
import { type Caller, holds, homeOf, sees } from '../../../domain/access.ts'
import type { Platform } from '../../../domain/device.ts'
import { badRequest, conflict, forbidden, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import {
  CODE_LIFETIME_MS,
  composeCode,
  type PairedDelivery,
  type PairingStatus,
  pairingAt,
  shownCode,
  typedCode,
} from '../../../domain/pairing.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { DevicesService, StoredDevice } from '../../fleet/devices/devices.service.ts'
import type { DeploymentsService } from '../deployments/deployments.service.ts'
import type { PairingsStore, StoredPairing } from './pairings.store.ts'

export interface NewPairing {
  /** What the device gets as soon as it is paired; nothing when absent. */
  readonly modelName: string | undefined
  readonly modelVersion: string
  /** Only a device of this kind may take the code. */
  readonly platform: Platform | undefined
  readonly orgId: string | undefined
}

export interface Claim {
  readonly code: string
  readonly deviceId: string | undefined
  readonly platform: Platform
  readonly deviceName: string | undefined
}

export interface Pairing extends Omit<StoredPairing, 'status' | 'codeHash'> {
  readonly status: PairingStatus
  /** What the device reported last of the deployment. */
  readonly deviceState: PairedDelivery['device']
  readonly deploymentId: string | null
}

/** A person stands beside the device: what does not happen in this time will not happen. */
const DELIVERY_SECONDS = 15 * 60
const KEPT_MS = 24 * 60 * 60 * 1000

/**
 * Pairing sessions: an operator makes a code that lives five minutes, a device enters it once, and gets its key and the
 * model. The deployment has the pairing's own id, so that there can be only one, and a crash in between is made good.
 */
export const createPairingsService = (parts: {
  readonly database: Database
  readonly store: PairingsStore
  readonly devices: Pick<DevicesService, 'register' | 'owner'>
  readonly deployments: Pick<DeploymentsService, 'execute' | 'get' | 'targets'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, devices, deployments, now, newId } = parts

  /** What the session may do in the name of whoever made it. */
  const onBehalfOf = ({ id, orgId }: Pick<StoredPairing, 'id' | 'orgId'>): Caller => ({
    keyId: id,
    orgId,
    deviceId: null,
    grants: ['devices:write', 'models:write'],
  })

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
      // Somebody who looked at the pairing at this moment has started it.
      if (error instanceof ServiceError && error.code === 'conflict') return
      if (!(error instanceof ServiceError)) throw error
      await store.fail(database.sql, id, error.message)
    }
  }

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
      throw new ServiceError('not_found', 'This pairing code is not known. Check it, or have a new one made.')
    }
    const { status } = pairingAt(pairing, null, now())
    if (status === 'waiting') return pairing
    throw conflict(
      status === 'expired'
        ? 'This pairing code has expired: it lives for 5 minutes. Have a new one made.'
        : 'This pairing code has been used: each pairs one device. Have a new one made.',
    )
  }

  return {
    /** A new session and its code, which is told here and nowhere else. */
    async create(caller: Caller, wanted: NewPairing): Promise<{ pairing: Pairing; code: string }> {
      if (wanted.modelName !== undefined && !holds(caller, 'models:write')) {
        throw forbidden('Deploying to the paired device needs the scope models:write.')
      }
      if (wanted.orgId !== undefined && !sees(caller, wanted.orgId)) {
        throw forbidden(`This key is bound to another organization than '${wanted.orgId}'.`)
      }
      const code = composeCode(randomBytes)
      const pairing: StoredPairing = {
        id: newId(),
        codeHash: hashOf(code),
        orgId: wanted.orgId ?? homeOf(caller),
        status: 'waiting',
        modelName: wanted.modelName ?? null,
        modelVersion: wanted.modelName === undefined ? null : wanted.modelVersion,
        deviceId: null,
        platform: wanted.platform ?? null,
        reason: null,
        createdAt: now(),
        expiresAt: new Date(now().getTime() + CODE_LIFETIME_MS),
      }
      await store.deleteOlder(database.sql, new Date(now().getTime() - KEPT_MS))
      await store.insert(database.sql, pairing)
      return { pairing: await withState(pairing), code: shownCode(code) }
    },

    /** The session as it stands; not_found when the caller may not see it. */
    async get(caller: Caller, id: string): Promise<Pairing> {
      const pairing = isUuid(id) ? await store.find(database.sql, id) : null
      if (pairing === null || !sees(caller, pairing.orgId)) throw notFound('Pairing', id)
      return withState(pairing)
    },

    /** Whether somebody may still enter this code. */
    async isOpen(text: string): Promise<boolean> {
      const code = typedCode(text)
      const pairing = code === null ? null : await store.findByCode(database.sql, hashOf(code))
      return pairing !== null && pairingAt(pairing, null, now()).status === 'waiting'
    },

    /**
     * A device takes a code, once. Gives its key where it was registered by this.
     * @throws not_found for an unknown code, conflict for a used or expired one; a refusal leaves the code as it was
     */
    async claim(caller: Caller | null, claim: Claim): Promise<{ pairing: Pairing; apiKey: string | null }> {
      const code = typedCode(claim.code)
      const before = requireOpen(code === null ? null : await store.findByCode(database.sql, hashOf(code)))
      if (before.platform !== null && before.platform !== claim.platform) {
        throw badRequest(`platform: this code is for a device that runs ${before.platform}, not ${claim.platform}.`)
      }
      const name = claim.deviceId ?? (await ownDevice(caller, before, claim))!.deviceId
      const device = { deviceId: name, platform: claim.platform }
      const claimed = await store.claim(database.sql, before.id, device, now())
      if (claimed === null) throw requireUsed(await store.find(database.sql, before.id))
      let admitted: Awaited<ReturnType<typeof admit>>
      try {
        admitted = await admit(caller, claimed, claim)
      } catch (error) {
        await store.release(database.sql, before)
        throw error
      }
      await deploy(claimed)
      return { pairing: await withState(claimed), apiKey: admitted.apiKey }
    },
  }

  function requireUsed(pairing: StoredPairing | null): Error {
    try {
      requireOpen(pairing)
    } catch (error) {
      return error as Error
    }
    return conflict('This pairing code is being used at this moment. Try again.')
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex')

export type PairingsService = ReturnType<typeof createPairingsService>
