import type { Database } from '../../../platform/db/open.ts'

export const MODEL = 'a0000000-0000-4000-8000-000000000001'
export const GROUP = 'b0000000-0000-4000-8000-000000000001'
export const deviceId = (n: number): string => `d0000000-0000-4000-8000-${String(n).padStart(12, '0')}`
export const AT = new Date('2026-01-01T00:00:00Z')

/** Inserts a model with versions of these labels (null for none), devices numbered from 1, and a group of some of them. */
export const seedPlans = async (
  { sql }: Database,
  labels: readonly (string | null)[],
  { orgs, members }: { readonly orgs: readonly (string | null)[]; readonly members: readonly number[] },
): Promise<void> => {
  await sql
    .insertInto('models')
    .values({
      id: MODEL,
      org_id: null,
      name: 'm',
      round_id: null,
      framework: 'pytorch',
      framework_version: '',
      accuracy: null,
      loss: null,
      is_baseline: false,
      description: '',
      created_at: AT,
    })
    .execute()
  const sha256 = 'ab'.repeat(32)
  await sql.insertInto('blobs').values({ sha256, size: 5, touched_at: AT }).execute()
  const version = { model_id: MODEL, format: 'onnx', file_name: 'f', sha256, size: 5, description: '', warnings: [] }
  for (const [index, version_label] of labels.entries()) {
    await sql
      .insertInto('model_versions')
      .values({ ...version, version: index + 1, version_label, uploaded_at: AT })
      .execute()
  }
  const device = { platform: 'linux', capabilities: '{}', status: 'active', last_heartbeat: AT, updated_at: AT }
  await sql
    .insertInto('devices')
    .values(
      orgs.map((org_id, at) => ({ id: deviceId(at + 1), device_id: `d${at + 1}`, org_id, created_at: AT, ...device })),
    )
    .execute()
  const group = {
    id: GROUP,
    org_id: 'acme',
    name: 'beta',
    description: '',
    group_type: 'static',
    tags: [],
    created_at: AT,
  }
  await sql.insertInto('device_groups').values(group).execute()
  await sql
    .insertInto('device_group_members')
    .values(members.map((n) => ({ group_id: GROUP, device_id: deviceId(n), added_by: null, added_at: AT })))
    .execute()
}
