import { randomBytes } from 'node:crypto'
import { type Caller, holds, homeOf, requireOwnOrg, sees } from '../../../domain/access.ts'
import type { Platform } from '../../../domain/device.ts'
import { badRequest, conflict, forbidden, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { CODE_LIFETIME_MS, composeCode, displayCode, typedCode } from '../../../domain/pairing.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { DevicesService, StoredDevice } from '../../fleet/devices/devices.service.ts'
import type { DeploymentsService } from '../deployments/deployments.service.ts'
import { createPairingDelivery, onBehalfOf, type Pairing, pairingState } from './pairing-delivery.service.ts'
import { pairingsStore, type StoredPairing } from './pairings.store.ts'

export type { Pairing } from './pairing-delivery.service.ts'

export interface NewPairing {
  /** The model that the device gets as soon as it is paired; undefined for none. */
  readonly modelName: string | undefined
  readonly modelVersion: string
  /** Only a device of this kind may take the code. */
  readonly platform: Platform | undefined
  readonly orgId: string | undefined
}

const KEPT_MS = 24 * 60 * 60 * 1000

interface Claim {
  readonly code: string
  readonly deviceId: string | undefined
  readonly platform: Platform
  readonly deviceName: string | undefined
}

interface Parts {
  readonly devices: Pick<DevicesService, 'register' | 'owner' | 'get'>
  readonly deployments: Pick<DeploymentsService, 'execute' | 'resolve' | 'get' | 'targets'>
}

/** Decides which device may take a code. */
const createClaims = ({ now }: Context, { devices }: Parts) => {
  /** Returns the device that takes the code: the one that owns the sent key, otherwise a new one. */
  const admit = async (caller: Caller | null, pairing: StoredPairing, claim: Claim) => {
    const known = await ownDevice(caller, pairing, claim)
    if (known !== null) return { device: known, apiKey: null }
    const { device, token } = await devices.register(onBehalfOf(pairing), {
      // Devices pair to run models; a program that trains reports that in its heartbeats.
      trains: false,
      deviceId: claim.deviceId ?? '',
      platform: claim.platform,
      capabilities: claim.deviceName === undefined ? {} : { device_name: claim.deviceName },
      orgId: pairing.orgId ?? undefined,
    })
    return { device, apiKey: token }
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
      throw forbidden('This device belongs to a different organization than the code.')
    }
    return device
  }

  const requireOpen = (pairing: StoredPairing | null): StoredPairing => {
    if (pairing === null) {
      throw new ServiceError('not_found', 'This pairing code is unknown. Check it, or create a new one.')
    }
    const { status } = pairingState(pairing, null, now())
    if (status === 'waiting') return pairing
    throw conflict(
      status === 'expired'
        ? 'This pairing code has expired: codes are valid for 5 minutes. Create a new one.'
        : 'This pairing code has been used: each code pairs one device. Create a new one.',
    )
  }

  /** Returns why a code that was open a moment ago cannot be taken. */
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

/**
 * Pairing sessions: an operator creates a code that is valid for five minutes; a device enters it once, and gets its key and
 * the model. The deployment has the pairing's id, so that there can be only one, even after a crash in between.
 */
export const createPairingsService = (context: Context, parts: Parts) => {
  const { database, now, newId } = context
  const { deployments } = parts

  const { carryOn, withState } = createPairingDelivery(context, parts)
  const { admit, ownDevice, requireOpen, refusalOf } = createClaims(context, parts)

  return {
    /** Creates a session and its code, which is returned only here. */
    async create(caller: Caller, requested: NewPairing): Promise<{ pairing: Pairing; code: string }> {
      if (requested.modelName !== undefined && !holds(caller, 'models:write')) {
        throw forbidden('Deploying to the paired device needs the scope models:write.')
      }
      if (requested.orgId !== undefined) requireOwnOrg(caller, requested.orgId)
      const { modelName, modelVersion } = requested
      const resolved =
        modelName === undefined
          ? null
          : await deployments.resolve(caller, { modelName, modelVersion, devices: undefined, group: undefined })
      const code = composeCode(randomBytes)
      const pairing: StoredPairing = {
        id: newId(),
        codeHash: tokenHash(code),
        orgId: requested.orgId ?? homeOf(caller),
        status: 'waiting',
        modelName: resolved === null ? (modelName ?? null) : (resolved.model.name ?? resolved.model.id),
        modelVersion: modelName === undefined ? null : (resolved?.label ?? modelVersion),
        deviceId: null,
        platform: requested.platform ?? null,
        reason: null,
        createdAt: now(),
        expiresAt: new Date(now().getTime() + CODE_LIFETIME_MS),
      }
      await database.transaction(async (tx) => {
        await pairingsStore.deleteOlder(tx, new Date(now().getTime() - KEPT_MS))
        await pairingsStore.insert(tx, pairing)
        const { modelName: model, modelVersion: version, platform, expiresAt } = pairing
        auditNote({ kind: 'pairing', ...pairing, after: { model, version, platform, expiresAt } })
      })
      return { pairing: await withState(pairing), code: displayCode(code) }
    },

    /** Returns the session in its current state. @throws not_found if the caller may not see it */
    async get(caller: Caller, id: string): Promise<Pairing> {
      const pairing = isUuid(id) ? await pairingsStore.find(database.sql, id) : null
      if (pairing === null || !sees(caller, pairing.orgId)) throw notFound('Pairing', id)
      return withState(pairing)
    },

    /** True if this code can still be entered. */
    async isOpen(text: string): Promise<boolean> {
      const code = typedCode(text)
      const pairing = code === null ? null : await pairingsStore.findByCode(database.sql, tokenHash(code))
      return pairing !== null && pairingState(pairing, null, now()).status === 'waiting'
    },

    /**
     * Lets a device take a code, once. Returns its key if this call registered it.
     * @throws not_found for an unknown code, conflict for a used or expired one; a refusal leaves the code unchanged
     */
    async claim(caller: Caller | null, claim: Claim): Promise<{ pairing: Pairing; apiKey: string | null }> {
      const code = typedCode(claim.code)
      const before = requireOpen(code === null ? null : await pairingsStore.findByCode(database.sql, tokenHash(code)))
      if (before.platform !== null && before.platform !== claim.platform) {
        throw badRequest(`platform: this code is for a device that runs ${before.platform}, not ${claim.platform}.`)
      }
      const name = claim.deviceId ?? (await ownDevice(caller, before, claim))!.deviceId
      const device = { deviceId: name, platform: claim.platform }
      const claimed = await pairingsStore.claim(database.sql, before.id, device, now())
      if (claimed === null) throw refusalOf(await pairingsStore.find(database.sql, before.id))
      let admitted: Awaited<ReturnType<typeof admit>>
      try {
        admitted = await admit(caller, claimed, claim)
      } catch (error) {
        await pairingsStore.release(database.sql, before)
        throw error
      }
      return { pairing: await carryOn(claimed, admitted.device.id), apiKey: admitted.apiKey }
    },
  }
}

export type PairingsService = ReturnType<typeof createPairingsService>
