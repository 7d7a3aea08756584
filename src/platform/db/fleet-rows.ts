import type { Generated } from 'kysely'
import type { DeviceFilter } from '../../domain/device-filter.ts'
import type { Json } from './json-column.ts'

// Rows of the fleet module's tables; see rows.ts.

export interface DeviceRow {
  id: string
  ordinal: Generated<number>
  device_id: string
  org_id: string | null
  platform: string
  capabilities: Json<Record<string, unknown>>
  status: string
  trains: Generated<boolean>
  heartbeat_seconds: number | null
  missed_at: Date | null
  /** This and the next column were added by 0037-heartbeat-counts. */
  heartbeat_counts: number[] | null
  heartbeat_slot: number | null
  metrics: Json<Record<string, unknown>> | null
  /** Added by 0053-dynamic-groups. */
  groups_outdated: Generated<boolean>
  last_heartbeat: Date
  created_at: Date
  updated_at: Date
}

export interface DeviceCountRow {
  org_id: string
  devices: number
}

export interface DeviceGroupRow {
  id: string
  ordinal: Generated<number>
  org_id: string
  name: string
  description: string
  group_type: string
  tags: string[]
  device_count: Generated<number>
  /** This and the next column were added by 0053-dynamic-groups. */
  filter: Json<DeviceFilter> | null
  filter_change: string | null
  created_at: Date
}

export interface DeviceGroupMemberRow {
  group_id: string
  device_id: string
  added_by: string | null
  added_at: Date
}

/** Added by 0012-announcements. */
export interface AnnouncementRow {
  subject_id: string
}

/** Added by 0039-device-erasures. */
export interface DeviceErasureRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  device_hash: string
  document: string
  signature: string
  erased_at: Date
}

export interface FleetTables {
  devices: DeviceRow
  device_counts: DeviceCountRow
  device_groups: DeviceGroupRow
  device_group_members: DeviceGroupMemberRow
  announcements: AnnouncementRow
  device_erasures: DeviceErasureRow
}
