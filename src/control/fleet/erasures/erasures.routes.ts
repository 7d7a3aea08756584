import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { present } from '../devices/devices.present.ts'
import { DeviceParams, OrgQuery } from '../devices/devices.schema.ts'
import { presentAssignment } from '../heartbeats/heartbeats.present.ts'
import {
  DeviceExport,
  DeviceExportQuery,
  EraseBody,
  Erasure,
  ErasureList,
  ErasureParams,
  ErasuresQuery,
} from './erasures.schema.ts'
import type { Erasures, StoredErasure } from './erasures.service.ts'

type Receipt = Omit<Static<typeof Erasure>, 'document' | 'signature' | 'public_key'>

const receiptOf = ({ document }: StoredErasure): Receipt => JSON.parse(document) as Receipt

export const erasuresRoutes = (app: App, erasures: Erasures, now: () => Date): void => {
  const presentErasure = async (erasure: StoredErasure) => ({
    ...receiptOf(erasure),
    document: erasure.document,
    signature: erasure.signature,
    public_key: await erasures.publicKey(),
  })
  const one = { params: DeviceParams, querystring: OrgQuery } as const

  app.get(
    '/api/v1/devices/:device_id/export',
    {
      schema: {
        params: DeviceParams,
        querystring: DeviceExportQuery,
        operationId: 'exportDevice',
        summary: 'Export all data stored about a device',
        description:
          'One document, with at most 1,000 rows of each kind; no secrets and no weights. `truncated` says that there are more: `offset` skips these.',
        response: { 200: DeviceExport },
      },
      config: { access: 'admin', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const named = { deviceId: request.params.device_id, orgId: request.query.org_id }
      const { device, heartbeats, assignments, data } = await erasures.export(
        callerOf(request),
        named,
        request.query.offset,
      )
      return {
        exported_at: now().toISOString(),
        device: present(device, now()),
        heartbeats: { from: heartbeats.from.toISOString(), counts: [...heartbeats.counts] },
        assignments: assignments.map(presentAssignment),
        data,
      }
    },
  )

  app.post(
    '/api/v1/devices/:device_id/erase',
    {
      schema: {
        ...one,
        operationId: 'eraseDevice',
        summary: 'Erase a device and its data',
        description:
          'Deletes the device, its keys, and all data stored about it, and returns a signed receipt. 409 while a round still needs the device.',
        body: EraseBody,
        response: { 200: Erasure },
      },
      config: { access: 'admin', errors: ['bad_request', 'not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const named = { deviceId: request.params.device_id, orgId: request.query.org_id }
      return presentErasure(await erasures.erase(callerOf(request), named, request.body.confirm))
    },
  )

  app.get(
    '/api/v1/device-erasures',
    {
      schema: {
        operationId: 'listDeviceErasures',
        summary: 'List receipts of erased devices',
        description: 'Newest first.',
        querystring: ErasuresQuery,
        response: { 200: ErasureList },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const found = await erasures.list(callerOf(request), request.query)
      return {
        erasures: found.erasures.map((erasure) => {
          const { id, device, erased_at, by, erased } = receiptOf(erasure)
          return { id, device, erased_at, by, rows: Object.values(erased).reduce((sum, rows) => sum + rows, 0) }
        }),
        total: found.total,
        ...request.query,
      }
    },
  )

  app.get(
    '/api/v1/device-erasures/:erasure_id',
    {
      schema: {
        operationId: 'getDeviceErasure',
        summary: 'Get the receipt of an erased device',
        params: ErasureParams,
        response: { 200: Erasure },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentErasure(await erasures.get(callerOf(request), request.params.erasure_id)),
  )
}
