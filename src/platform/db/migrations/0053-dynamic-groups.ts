/** Groups whose members are the devices that match a filter. */
export const dynamicGroups = {
  name: '0053-dynamic-groups',
  statements: [
    `alter table device_groups add column filter jsonb`,
    // The change of the filter that is being applied to the devices; null if that is done.
    `alter table device_groups add column filter_change uuid`,
    `create index device_groups_dynamic on device_groups (org_id) where filter is not null`,
    // Whether the device was registered or changed since its dynamic groups were determined.
    `alter table devices add column groups_outdated boolean not null default false`,
  ],
} as const
