/** Organizations, keys, devices, models and their files, rounds and their updates. */
export const foundation = {
  name: '0001-foundation',
  statements: [
    `create table orgs (
      id text primary key,
      name text not null,
      compliance text,
      region text not null,
      created_at timestamptz not null
    )`,

    `create table devices (
      id uuid primary key,
      -- Dense numbers from 1: a round draws its devices by number, so that a draw costs the same in any fleet.
      ordinal bigint generated always as identity unique,
      device_id text not null unique,
      org_id text,
      platform text not null,
      capabilities jsonb not null,
      status text not null,
      metrics jsonb,
      last_heartbeat timestamptz not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    ) with (fillfactor = 70)`,
    // last_heartbeat is deliberately not indexed: otherwise every heartbeat would write index pages too.
    `create index devices_by_org on devices (org_id, created_at, id)`,

    // The number of devices per organization ('' for none), updated at registration; lists show totals.
    `create table device_counts (
      org_id text primary key,
      devices bigint not null
    )`,

    `create table keys (
      id uuid primary key,
      name text not null,
      prefix text not null,
      hash text not null unique,
      grants text[] not null,
      org_id text,
      device_id uuid references devices (id) on delete cascade,
      created_at timestamptz not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz
    )`,

    `create table login_codes (
      hash text primary key,
      challenge text not null,
      redirect_uri text not null,
      grants text[] not null,
      org_id text,
      expires_at timestamptz not null
    )`,

    `create table blobs (
      sha256 text primary key,
      size bigint not null,
      touched_at timestamptz not null
    )`,

    `create table models (
      id uuid primary key,
      -- Which came later, also among models of the same millisecond.
      ordinal bigint generated always as identity,
      org_id text,
      name text,
      round_id uuid,
      framework text not null,
      framework_version text not null,
      accuracy double precision,
      loss double precision,
      is_baseline boolean not null,
      description text not null,
      version_count integer not null default 0,
      created_at timestamptz not null
    )`,
    `create unique index models_by_name on models (coalesce(org_id, ''), name) where name is not null`,
    `create unique index models_by_round on models (round_id) where round_id is not null`,
    `create index models_by_age on models (created_at desc, ordinal desc)`,

    `create table model_versions (
      model_id uuid not null references models (id) on delete cascade,
      version integer not null,
      format text not null,
      version_label text,
      file_name text not null,
      sha256 text not null references blobs (sha256),
      size bigint not null,
      description text not null,
      warnings text[] not null,
      uploaded_at timestamptz not null,
      primary key (model_id, version)
    )`,
    `create unique index model_versions_by_label on model_versions (model_id, version_label)
      where version_label is not null`,
    `create index model_versions_by_blob on model_versions (sha256)`,

    `create table rounds (
      id uuid primary key,
      org_id text,
      round_number integer not null,
      status text not null,
      target_devices integer not null,
      min_devices integer not null,
      timeout_seconds integer not null,
      grace_seconds double precision not null,
      plan jsonb not null,
      taking_part integer not null,
      participated_devices integer not null default 0,
      completed_devices integer not null default 0,
      failed_devices integer not null default 0,
      global_model_id uuid references models (id),
      global_model_version integer,
      global_sha256 text references blobs (sha256),
      aggregated_model_id uuid,
      aggregated_sha256 text references blobs (sha256),
      quorum_at timestamptz,
      failure_reason text,
      receipt jsonb,
      lease_owner uuid,
      lease_until timestamptz,
      attempts integer not null default 0,
      created_at timestamptz not null,
      started_at timestamptz,
      timeout_at timestamptz,
      completed_at timestamptz,
      ended_at timestamptz,
      updates_deleted_at timestamptz
    )`,
    `create unique index rounds_by_number on rounds (coalesce(org_id, ''), round_number)`,
    // One round at a time: backs up the service's own check.
    `create unique index rounds_in_progress on rounds (coalesce(org_id, ''))
      where status in ('pending', 'active', 'aggregating')`,
    `create index rounds_by_ending on rounds (ended_at) where updates_deleted_at is null`,

    `create table round_participants (
      round_id uuid not null references rounds (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      state text not null,
      chosen text not null,
      selected_at timestamptz not null,
      fetched_at timestamptz,
      reported_at timestamptz,
      failure_reason text,
      primary key (round_id, device_id)
    )`,

    `create table updates (
      id uuid primary key,
      round_id uuid not null references rounds (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      sha256 text references blobs (sha256),
      file_hash text not null,
      size bigint not null,
      num_samples bigint not null,
      local_loss double precision,
      local_accuracy double precision,
      training_time_seconds integer,
      created_at timestamptz not null,
      unique (round_id, device_id)
    )`,
    `create index updates_by_blob on updates (sha256)`,

    // Requests of this and the last minute, summed over processes. Unlogged, since they are worthless after a crash.
    `create unlogged table rate_counts (
      name text primary key,
      requests bigint not null,
      counted_at timestamptz not null
    )`,
  ],
} as const
