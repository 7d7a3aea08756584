import { Type } from 'typebox'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  Nullable,
  Page,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { Device, DeviceName, OrgQuery } from '../devices/devices.schema.ts'
import { examples } from '../fleet.examples.ts'
import { Assignment } from '../heartbeats/heartbeats.schema.ts'

export const DeviceExport = Body('DeviceExport', 'All data stored about a device', examples.deviceExport, {
  exported_at: Timestamp,
  device: Device,
  heartbeats: Part('ExportedHeartbeats', 'Heartbeats from the last day', {
    from: Timestamp,
    counts: Type.Array(Count, {
      description: 'Number of heartbeats in each 15-minute interval since then (96 in all)',
    }),
  }),
  assignments: Type.Array(Assignment),
  data: Type.Record(
    Type.String(),
    Part('ExportedRows', 'Rows of one kind, without secrets or weights', {
      rows: Type.Array(FreeObject, { maxItems: 1000 }),
      truncated: Type.Boolean({ description: 'Whether there are more rows after these' }),
    }),
  ),
})

export const DeviceExportQuery = Type.Object({
  ...OrgQuery.properties,
  offset: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 0,
    description: 'Number of rows of each kind to skip',
  }),
})

export const EraseBody = Body('DeviceErasureRequest', 'Confirmation of which device to erase', examples.eraseDevice, {
  confirm: Type.String({ ...DeviceName, description: 'The device_id' }),
})

const receipt = {
  id: Uuid,
  org_id: Nullable(Type.String()),
  device: Type.String({ format: 'uuid', description: 'The id that the service gave the device' }),
  device_hash: Type.String({ description: 'A keyed hash of organization and device_id' }),
  erased_at: Timestamp,
  by: Part('ErasedBy', 'Who erased it', { kind: Type.String(), id: Uuid }),
  erased: Type.Record(Type.String(), Count, { description: 'Rows of each kind that were deleted' }),
  kept: Type.Array(Part('KeptData', 'What stays, and why', { what: Type.String(), why: Type.String() })),
  document: Type.String({ description: 'The receipt as it was signed: JSON text' }),
  signature: Type.String({ description: 'Ed25519 over document, base64' }),
  public_key: Type.String({ description: 'SPKI, base64: the key that signs heads of the audit log' }),
}
export const Erasure = Body('DeviceErasure', 'The receipt of an erased device', examples.deviceErasure, receipt)
export const ErasureList = Body('DeviceErasureList', 'A page of receipts', examples.deviceErasureList, {
  erasures: Type.Array(
    Part('DeviceErasureSummary', 'A receipt in a list', {
      id: Uuid,
      device: receipt.device,
      erased_at: Timestamp,
      by: receipt.by,
      rows: Count,
    }),
  ),
  ...Envelope,
})
export const ErasureParams = Type.Object({ erasure_id: Uuid })
export const ErasuresQuery = Type.Object(Page({ max: 1000, default: 100 }))
