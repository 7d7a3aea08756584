/** More settings of organizations; null: no setting at this level. */
export const compliance = {
  name: '0029-compliance',
  statements: [
    `alter table org_settings
      add column audit_retention_days integer check (audit_retention_days between 1 and 36500),
      add column key_lifetime_days integer check (key_lifetime_days between 1 and 3650),
      add column update_retention_days integer check (update_retention_days between 0 and 3650),
      add column min_group_size integer check (min_group_size between 5 and 1000000),
      add column automatic_rollback boolean not null default false`,
  ],
} as const
