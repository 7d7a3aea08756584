/** Device groups, and the plans that deliver model versions to devices: rollouts, deployments, experiments, policies. */
export const delivery = {
  name: '0003-delivery',
  statements: [
    `create table device_groups (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text not null,
      name text not null,
      description text not null,
      group_type text not null,
      tags text[] not null,
      -- Kept true by whoever adds and removes: lists show it.
      device_count integer not null default 0,
      created_at timestamptz not null
    )`,
    `create unique index device_groups_by_name on device_groups (org_id, name)`,

    `create table device_group_members (
      group_id uuid not null references device_groups (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      added_by text,
      added_at timestamptz not null,
      primary key (group_id, device_id)
    )`,
    `create index device_group_members_by_device on device_group_members (device_id)`,

    // Counts all changes of plans. Processes cache the running plans, and reload them when this number changes. The first
    // change creates the only row.
    `create table delivery_revision (
      only_row boolean primary key default true check (only_row),
      revision bigint not null
    )`,

    `create table rollouts (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      model_id uuid not null references models (id) on delete cascade,
      -- As the operator wrote it; an upload may carry it later.
      version text not null,
      status text not null,
      percentage integer not null,
      initial_percentage integer not null,
      target_percentage integer not null,
      increment_step integer not null,
      step_interval_seconds integer not null,
      -- Only devices of this group, when set. No reference: a rollout whose group is gone reaches nobody, not everybody.
      group_id uuid,
      auto_rollback boolean not null,
      reason text,
      next_step_at timestamptz,
      -- Reports from before the last start or resume say nothing of its health.
      health_since timestamptz,
      -- The revision of its start: which plan is newer, whatever the clocks say.
      started_revision bigint,
      created_at timestamptz not null,
      started_at timestamptz,
      ended_at timestamptz,
      updated_at timestamptz not null
    )`,
    `create index rollouts_by_model on rollouts (model_id, ordinal desc)`,
    `create index rollouts_due on rollouts (next_step_at) where status = 'active'`,

    // The history of rollouts and deployments. Without a reference, since a deleted plan's history may still be requested.
    `create table plan_events (
      plan_id uuid not null,
      ordinal bigint generated always as identity,
      at timestamptz not null,
      event text not null,
      status text not null,
      percentage integer,
      reason text,
      actor text,
      primary key (plan_id, ordinal)
    )`,

    `create table deployments (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      model_name text not null,
      model_version text not null,
      -- Null where the catalog does not know the name and the device resolves it itself.
      model_id uuid references models (id) on delete set null,
      status text not null,
      strategy text not null,
      percentage integer not null,
      target_count integer not null,
      activated_count integer not null,
      reason text,
      -- Under blue_green: since when devices run the new version.
      switched_at timestamptz,
      deadline_at timestamptz,
      started_revision bigint,
      created_at timestamptz not null,
      ended_at timestamptz
    )`,
    `create table deployment_targets (
      deployment_id uuid not null references deployments (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      activated boolean not null,
      primary key (deployment_id, device_id)
    )`,
    `create index deployment_targets_by_device on deployment_targets (device_id)`,

    // Each device's latest report on each plan that reached it.
    `create table plan_reports (
      plan_id uuid not null,
      device_id uuid not null references devices (id) on delete cascade,
      state text not null,
      version text not null,
      reason text,
      -- What the device measured with the version, as {name: number}.
      metrics jsonb,
      reported_at timestamptz not null,
      primary key (plan_id, device_id)
    )`,
    `create index plan_reports_by_device on plan_reports (device_id)`,
    // Health is checked with every batch of reports; usually there are no failures.
    `create index plan_reports_failed on plan_reports (plan_id) where state = 'failed'`,

    `create table experiments (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      name text not null,
      status text not null,
      primary_metric text not null,
      target_groups uuid[] not null,
      confidence_level double precision not null,
      reason text,
      started_revision bigint,
      created_at timestamptz not null,
      started_at timestamptz,
      ended_at timestamptz
    )`,
    `create unique index experiments_by_name on experiments (coalesce(org_id, ''), name)`,
    `create table experiment_variants (
      experiment_id uuid not null references experiments (id) on delete cascade,
      position integer not null,
      name text not null,
      model_id uuid not null,
      version text not null,
      allocation double precision not null,
      primary key (experiment_id, position),
      unique (experiment_id, name)
    )`,
    // One device's readings of one metric. Devices are compared, so the variance within a device is not stored.
    `create table experiment_observations (
      experiment_id uuid not null references experiments (id) on delete cascade,
      variant integer not null,
      device_id uuid not null references devices (id) on delete cascade,
      metric text not null,
      count bigint not null,
      mean double precision not null,
      updated_at timestamptz not null,
      primary key (experiment_id, variant, device_id, metric)
    )`,

    // How to handle the aggregate of a completed round: one policy per model.
    `create table delivery_policies (
      id uuid primary key,
      org_id text,
      model_id uuid not null unique references models (id) on delete cascade,
      enabled boolean not null,
      settings jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
    `create table delivery_decisions (
      id uuid primary key,
      ordinal bigint generated always as identity,
      policy_id uuid not null references delivery_policies (id) on delete cascade,
      round_id uuid not null,
      rollout_id uuid,
      version text not null,
      status text not null,
      record jsonb not null,
      created_at timestamptz not null,
      decided_at timestamptz,
      unique (policy_id, round_id)
    )`,

    `create table pairings (
      code_hash text primary key,
      id uuid not null unique,
      org_id text,
      status text not null,
      model_name text,
      model_version text,
      device_id text,
      platform text,
      reason text,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`,
  ],
} as const
