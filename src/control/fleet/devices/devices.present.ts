import { statusAt } from '../../../domain/device.ts'
import type { ListedDevice, StoredDevice } from './devices.service.ts'

/** Returns a device with the API's field names. */
export const present = (device: StoredDevice, at: Date) => ({
  id: device.id,
  device_id: device.deviceId,
  org_id: device.orgId,
  platform: device.platform,
  capabilities: device.capabilities,
  trains: device.trains,
  status: statusAt(device, at),
  metrics: device.metrics,
  ...(device.omitted && { omitted: [...device.omitted] }),
  last_heartbeat: device.lastHeartbeat.toISOString(),
  created_at: device.createdAt.toISOString(),
  updated_at: device.updatedAt.toISOString(),
})

/** Returns a device for the list of an organization, which includes devices without an organization. */
export const presentListed = (device: ListedDevice, listedOrg: string, at: Date) => ({
  id: device.id,
  device_identifier: device.deviceId,
  org_id: device.orgId ?? listedOrg,
  platform: device.platform,
  status: statusAt(device, at),
  last_seen_at: device.lastHeartbeat.toISOString(),
})

export const presentRegistration = (device: StoredDevice, token: string, at: Date) => ({
  id: device.id,
  device_id: device.deviceId,
  api_key: token,
  platform: device.platform,
  status: statusAt(device, at),
  created_at: device.createdAt.toISOString(),
})
