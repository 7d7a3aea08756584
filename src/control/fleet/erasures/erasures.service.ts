import { actorOf, type Caller, DEFAULT_ORG } from '../../../domain/access.ts'
import type { Assignment } from '../../../domain/assignment.ts'
import { badRequest, notFound } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Signer } from '../../../platform/secrets.ts'
import type { Audit } from '../../access/audit/audit.service.ts'
import type { KeysService } from '../../access/keys/keys.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { DevicesService, NamedDevice, StoredDevice } from '../devices/devices.service.ts'
import type { HeartbeatsService } from '../heartbeats/heartbeats.service.ts'
import { erasuresStore, type RowsOfDevice, type StoredErasure } from './erasures.store.ts'

export type { StoredErasure } from './erasures.store.ts'

/** A module's data about a device. */
export interface DeviceDataContributor {
  readonly rowsOf: RowsOfDevice
  /** Called in the transaction, before anything is deleted. */
  readonly beforeErasure?: (tx: Executor, device: StoredDevice) => Promise<void>
  readonly assignmentsOf?: (device: StoredDevice) => readonly Assignment[]
}

/** The maximum number of exported rows of each kind. */
const MAX_ROWS = 1000

const KEPT = [
  { what: 'finished aggregates', why: "They are sums over many devices; one device's part cannot be removed." },
  {
    what: 'receipts of rounds and the privacy ledger',
    why: 'They document those sums; the internal id of the device replaces its name.',
  },
  { what: 'references in the audit log', why: 'Its hash chain must stay intact; the names are erased.' },
  { what: 'a keyed hash of the device_id', why: 'The device must not enroll again on its own.' },
  { what: 'results of statistics', why: 'They describe groups, and are the record of who requested what.' },
  { what: 'backups, logs, and what integrations received', why: 'Their own retention deletes them.' },
]

/** A pseudonym that only this installation can compute: the receipts contain no other name. */
export const createDeviceHash = (signer: Signer) => (orgId: string | null, deviceId: string) =>
  signer.pseudonym(JSON.stringify([orgId ?? DEFAULT_ORG, deviceId]))

export const createErasures = (
  { database, now, newId, events }: Context,
  {
    devices,
    heartbeats,
    keys,
    audit,
    signer,
    deviceHash,
  }: {
    readonly devices: DevicesService
    readonly heartbeats: Pick<HeartbeatsService, 'flush' | 'history'>
    readonly keys: Pick<KeysService, 'ofDevice'>
    readonly audit: Pick<Audit, 'eraseDevice'>
    readonly signer: Signer
    readonly deviceHash: ReturnType<typeof createDeviceHash>
  },
) => {
  const contributors: DeviceDataContributor[] = []
  const rowsOf = (device: StoredDevice) => contributors.flatMap((one) => Object.entries(one.rowsOf(device)))

  /** @throws not_found if it is already gone, conflict if a round cannot do without it */
  const eraseIn = async (tx: Executor, device: StoredDevice, caller: Caller, hash: string) => {
    if (!(await erasuresStore.lockDevice(tx, device.id))) throw notFound('Device', device.deviceId)
    for (const one of contributors) await one.beforeErasure?.(tx, device)
    const { ids: keyIds, rows, forget } = await keys.ofDevice(tx, device.id)
    const erased: Record<string, number> = { device: 1 }
    for (const [kind, own] of [...rowsOf(device), ['keys', rows] as const])
      erased[kind] = await erasuresStore.erase(tx, own)
    await erasuresStore.deleteDevice(tx, device.id)
    const of = { orgId: device.orgId, kind: 'device', id: device.id }
    erased.audit_names = await audit.eraseDevice(tx, device.id, keyIds)
    const id = newId()
    const erasedAt = now()
    const by = { kind: caller.personId === undefined ? 'key' : 'person', id: actorOf(caller) }
    const receipt = {
      id,
      org_id: device.orgId,
      device: device.id,
      device_hash: hash,
      erased_at: erasedAt.toISOString(),
      by,
      erased,
      kept: KEPT,
    }
    const document = JSON.stringify(receipt)
    const stored: StoredErasure = { id, erasedAt, document, signature: await signer.sign(document) }
    await erasuresStore.insert(tx, { ...stored, orgId: device.orgId, deviceHash: hash })
    auditNote({ ...of, after: { erased: true, receipt: id } })
    await events.publish(tx, 'device.erased', { deviceId: device.id, orgId: device.orgId })
    return { stored, forget }
  }

  return {
    /** Adds a module's data about devices. Called when the module is created. */
    contribute: (contributor: DeviceDataContributor): void => {
      contributors.push(contributor)
    },

    /** Returns everything that is stored about a device: at most 1,000 rows of each kind, after `offset` others. */
    async export(caller: Caller, { deviceId, orgId }: NamedDevice, offset: number) {
      await heartbeats.flush()
      const device = await devices.get(caller, deviceId, { orgId })
      const held = await keys.ofDevice(database.sql, device.id)
      const data: Record<string, { rows: Record<string, unknown>[]; truncated: boolean }> = {}
      for (const [kind, own] of [...rowsOf(device), ['keys', held.rows] as const]) {
        const rows = await erasuresStore.read(database.sql, own, { limit: MAX_ROWS + 1, offset })
        data[kind] = { rows: rows.slice(0, MAX_ROWS), truncated: rows.length > MAX_ROWS }
      }
      const assignments = contributors.flatMap((one) => one.assignmentsOf?.(device) ?? [])
      return { device, heartbeats: await heartbeats.history(device), assignments, data }
    },

    /**
     * Deletes a device with everything that modules store about it, and keeps a signed receipt.
     * @throws bad_request if `confirm` is another name, not_found if there is no such device
     */
    async erase(caller: Caller, { deviceId, orgId }: NamedDevice, confirm: string): Promise<StoredErasure> {
      if (confirm !== deviceId)
        throw badRequest(`confirm must be the device_id '${deviceId}': erasing cannot be undone.`)
      await heartbeats.flush()
      const device = await devices.get(caller, deviceId, { orgId })
      const hash = await deviceHash(device.orgId, device.deviceId)
      const { stored, forget } = await database.transaction((tx) => eraseIn(tx, device, caller, hash))
      forget()
      return stored
    },

    list: (caller: Caller, page: { limit: number; offset: number }) =>
      erasuresStore.list(database.sql, caller.orgId, page),

    async get(caller: Caller, id: string): Promise<StoredErasure> {
      const found = await erasuresStore.find(database.sql, caller.orgId, id)
      if (found === null) throw notFound('Erasure', id)
      return found
    },

    publicKey: signer.publicKey,
  }
}

export type Erasures = ReturnType<typeof createErasures>
