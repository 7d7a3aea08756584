import { hashes, ids, page, times } from '../example-ids.ts'

const newDevice = {
  device_id: 'pixel-8-0042',
  platform: 'android',
  capabilities: { memory_gb: 8, cpu_cores: 9 },
  org_id: 'acme',
}
const summary = {
  id: ids.device,
  device_identifier: 'pixel-8-0042',
  org_id: 'acme',
  platform: 'android',
  status: 'active',
  last_seen_at: times.reported,
}
const newGroup = {
  org_id: 'acme',
  name: 'beta-testers',
  description: 'Employees who test new versions',
  tags: ['beta'],
}
const group = {
  id: ids.group,
  ...newGroup,
  group_type: 'static',
  device_count: 2,
  filter: null,
  created_at: times.created,
}
const assignment = {
  plan_id: ids.rollout,
  kind: 'rollout',
  model_id: ids.model,
  model_name: 'next-word',
  version: '2.0.0',
  version_number: 2,
  format: 'pytorch',
  model_size_bytes: 4_812_800,
  model_hash: hashes.model,
  download_path: `/api/v1/models/${ids.model}/versions/2/download`,
  activate: true,
}

const device = {
  id: ids.device,
  ...newDevice,
  trains: true,
  status: 'active',
  metrics: { battery_level: 87, charging: true },
  last_heartbeat: times.reported,
  created_at: times.created,
  updated_at: times.reported,
}
const receipt = {
  id: ids.erasure,
  org_id: 'acme',
  device: ids.device,
  device_hash: 'q0m3Jp1nX8sVZt5yB7rKdA',
  erased_at: times.later,
  by: { kind: 'key', id: ids.key },
  erased: { device: 1, groups: 1, rounds: 3, updates: 2, keys: 1, audit_names: 1 },
  kept: [{ what: 'references in the audit log', why: 'Its hash chain must stay intact; the names are erased.' }],
}

export const examples = {
  deviceExport: {
    exported_at: times.later,
    device,
    heartbeats: { from: times.created, counts: [15, 0, 14] },
    assignments: [assignment],
    data: { groups: { rows: [{ group_id: ids.group, added_at: times.started }], truncated: false } },
  },
  eraseDevice: { confirm: 'pixel-8-0042' },
  deviceErasure: {
    ...receipt,
    document: JSON.stringify(receipt),
    signature: 'n3tYw0sVb2Jm5xQe8uKf1A==',
    public_key: 'MCowBQYDK2VwAyEA7c1n9Yq0mJ2vXz4t',
  },
  deviceErasureList: {
    erasures: [{ id: ids.erasure, device: ids.device, erased_at: times.later, by: receipt.by, rows: 9 }],
    ...page,
  },
  deviceGroups: { device_id: 'pixel-8-0042', groups: [group] },
  newDevice,
  registration: {
    id: ids.device,
    device_id: 'pixel-8-0042',
    api_key: 'sk_live_c2JfK7dHs9BgUa1EXq3vR8mTzL0pW5nY',
    platform: 'android',
    status: 'active',
    created_at: times.created,
  },
  deviceList: { devices: [summary], ...page },
  device,
  heartbeat: { status: 'active', metrics: { battery_level: 87, charging: true } },
  heartbeatHistory: { device_id: 'pixel-8-0042', from: times.created, slot_seconds: 900, counts: [15, 0, 14] },
  heartbeatResponse: {
    status: 'active',
    last_heartbeat: times.reported,
    pending_round_id: ids.round,
    assignments: [assignment],
    assignments_tag: '8c1f5e0a',
    next_heartbeat_seconds: 60,
    message: 'Heartbeat recorded. A round awaits this device.',
  },
  assignmentList: { device_id: 'pixel-8-0042', assignments: [assignment] },
  newGroup: {
    org_id: 'acme',
    name: 'large-phones',
    filter: [
      { field: 'platform', op: 'eq', value: 'android' },
      { field: 'capabilities.memory_gb', op: 'gte', value: 6 },
    ],
  },
  groupChanges: { description: 'Employees and volunteers who test new versions', tags: ['beta', 'volunteers'] },
  group,
  groupList: { groups: [group], ...page },
  deletedGroup: { group_id: ids.group, deleted: true },
  groupDeviceList: { devices: [{ ...summary, added_by: 'ml-team', added_at: times.started }], ...page },
  devicesToAdd: { device_ids: ['pixel-8-0042', 'pixel-8-0043'], added_by: 'ml-team' },
  devicesToRemove: { device_ids: ['pixel-8-0043'] },
  addedDevices: { group_id: ids.group, added: ['pixel-8-0042'], skipped: ['pixel-8-0043'] },
  removedDevices: { group_id: ids.group, removed: ['pixel-8-0043'], skipped: [] },
} as const
