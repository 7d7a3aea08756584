import { createHash, randomBytes } from 'node:crypto'
import { type Caller, holds, homeOf, sees } from '../../../domain/access.ts'
import type { Platform } from '../../../domain/device.ts'
import { badRequest, forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { CODE_LIFETIME_MS, composeCode, pairingAt, shownCode, typedCode } from '../../../domain/pairing.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { DeploymentsService } from '../deployments/deployments.service.ts'
import { type Claim, createPairingClaims } from './pairing-claims.service.ts'
import { createPairingDelivery, type Pairing } from './pairing-delivery.service.ts'
import type { PairingsStore, StoredPairing } from './pairings.store.ts'

export type { Pairing } from './pairing-delivery.service.ts'

export interface NewPairing {
  /** What the device gets as soon as it is paired; nothing when absent. */
  readonly modelName: string | undefined
  readonly modelVersion: string
  /** Only a device of this kind may take the code. */
  readonly platform: Platform | undefined
  readonly orgId: string | undefined
}

const KEPT_MS = 24 * 60 * 60 * 1000

/**
 * Pairing sessions: an operator makes a code that lives five minutes, a device enters it once, and gets its key and the
 * model. The deployment has the pairing's own id, so that there can be only one, and a crash in between is made good.
 */
export const createPairingsService = (parts: {
  readonly database: Database
  readonly store: PairingsStore
  readonly devices: Pick<DevicesService, 'register' | 'owner'>
  readonly deployments: Pick<DeploymentsService, 'execute' | 'resolve' | 'get' | 'targets'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, deployments, now, newId } = parts

  const { deploy, withState } = createPairingDelivery(parts)
  const { admit, ownDevice, requireOpen, refusalOf } = createPairingClaims(parts)

  return {
    /** A new session and its code, which is told here and nowhere else. */
    async create(caller: Caller, requested: NewPairing): Promise<{ pairing: Pairing; code: string }> {
      if (requested.modelName !== undefined && !holds(caller, 'models:write')) {
        throw forbidden('Deploying to the paired device needs the scope models:write.')
      }
      if (requested.orgId !== undefined && !sees(caller, requested.orgId)) {
        throw forbidden(`This key is bound to another organization than '${requested.orgId}'.`)
      }
      const { modelName, modelVersion } = requested
      const resolved =
        modelName === undefined
          ? null
          : await deployments.resolve(caller, { modelName, modelVersion, devices: undefined, group: undefined })
      const code = composeCode(randomBytes)
      const pairing: StoredPairing = {
        id: newId(),
        codeHash: hashOf(code),
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
        await store.deleteOlder(tx, new Date(now().getTime() - KEPT_MS))
        await store.insert(tx, pairing)
        const { modelName: model, modelVersion: version, platform, expiresAt } = pairing
        auditNote({ kind: 'pairing', ...pairing, after: { model, version, platform, expiresAt } })
      })
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
      if (claimed === null) throw refusalOf(await store.find(database.sql, before.id))
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
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex')

export type PairingsService = ReturnType<typeof createPairingsService>
