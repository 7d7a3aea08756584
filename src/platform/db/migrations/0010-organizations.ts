/** Keys that expire with the key that approved them, and device ids that are unique only within an organization. */
export const organizations = {
  name: '0010-organizations',
  statements: [
    `alter table keys
      -- Of a key from a login: the key that approved it, and the first of that chain, whose rate limit all share.
      add column approved_by uuid references keys (id) on delete cascade,
      add column root_id uuid references keys (id) on delete cascade`,
    `create index keys_by_approver on keys (approved_by) where approved_by is not null`,
    `create index keys_by_root on keys (root_id) where root_id is not null`,
    `create index keys_by_device on keys (device_id) where device_id is not null`,
    `alter table login_codes add column approved_by uuid references keys (id) on delete cascade`,

    // Devices without an organization count as those of 'default', which they join when enrollment changes to token.
    `alter table devices drop constraint devices_device_id_key`,
    `create unique index devices_by_name on devices (device_id, coalesce(org_id, 'default'))`,
  ],
} as const
