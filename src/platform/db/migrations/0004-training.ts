/** Training jobs, federations with their privacy ledgers, recorded analyses, and secure rounds. */
export const training = {
  name: '0004-training',
  statements: [
    `create table federations (
      id uuid primary key,
      ordinal bigint generated always as identity,
      name text not null,
      description text not null,
      -- The owner.
      org_id text not null,
      status text not null,
      created_at timestamptz not null
    )`,
    `create unique index federations_by_name on federations (org_id, name)`,

    `create table federation_members (
      federation_id uuid not null references federations (id) on delete cascade,
      org_id text not null,
      role text not null,
      status text not null,
      invited_at timestamptz,
      joined_at timestamptz,
      primary key (federation_id, org_id)
    )`,
    `create index federation_members_by_org on federation_members (org_id)`,

    `create table federation_models (
      federation_id uuid not null references federations (id) on delete cascade,
      model_id uuid not null references models (id) on delete cascade,
      shared_at timestamptz not null,
      primary key (federation_id, model_id)
    )`,
    `create index federation_models_by_model on federation_models (model_id)`,

    // One row per federation with a budget; reserving and settling lock it.
    `create table privacy_budgets (
      federation_id uuid primary key references federations (id) on delete cascade,
      total_epsilon double precision not null,
      total_delta double precision not null,
      updated_at timestamptz not null
    )`,
    `create table privacy_ledger (
      id uuid primary key,
      ordinal bigint generated always as identity,
      federation_id uuid not null references federations (id) on delete cascade,
      -- No reference: what was spent stays spent when its round is forgotten.
      round_id uuid not null unique,
      job_id uuid,
      -- reserved, settled or released
      status text not null,
      noise_multiplier double precision not null,
      sample_rate double precision not null,
      steps integer not null,
      clip_norm double precision,
      -- What all entries up to this one cost together, as it was computed when this one was settled.
      epsilon_after double precision,
      accountant text,
      reserved_at timestamptz not null,
      settled_at timestamptz
    )`,
    `create index privacy_ledger_by_federation on privacy_ledger (federation_id, ordinal)`,

    `create table analytics_queries (
      id uuid primary key,
      ordinal bigint generated always as identity,
      federation_id uuid not null references federations (id) on delete cascade,
      org_id text,
      query_type text not null,
      variable text not null,
      request jsonb not null,
      status text not null,
      result jsonb,
      reason text,
      created_at timestamptz not null
    )`,
    `create index analytics_queries_by_federation on analytics_queries (federation_id, ordinal desc)`,

    `create table training_jobs (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      name text,
      status text not null,
      -- What was asked for, whole: strategy and options, sizes, deadlines, privacy, when to stop.
      settings jsonb not null,
      -- The model it began from, and what it has reached.
      model_id uuid references models (id) on delete set null,
      latest_model_id uuid references models (id) on delete set null,
      group_id uuid,
      federation_id uuid references federations (id) on delete set null,
      rounds_completed integer not null default 0,
      rounds_failed_in_a_row integer not null default 0,
      -- What the strategy carries from round to round: momentum, control variates.
      state_sha256 text references blobs (sha256),
      control_sha256 text references blobs (sha256),
      -- The bound on updates that adaptive clipping has reached.
      clip_norm double precision,
      -- How it ended, as a word and as a sentence.
      ended_by text,
      reason text,
      -- Until when the next round may wait for devices or its turn.
      waiting_until timestamptz,
      stop_requested boolean not null default false,
      created_at timestamptz not null,
      started_at timestamptz,
      ended_at timestamptz
    )`,
    `create index training_jobs_by_org on training_jobs (org_id, ordinal desc)`,
    `create index training_jobs_running on training_jobs (ordinal) where ended_at is null`,
    `create index training_jobs_by_state on training_jobs (state_sha256) where state_sha256 is not null`,
    `create index training_jobs_by_control on training_jobs (control_sha256) where control_sha256 is not null`,

    `alter table rounds
      add column job_id uuid references training_jobs (id) on delete set null,
      add column group_id uuid,
      add column federation_id uuid references federations (id) on delete set null,
      -- The round closes when so many updates are in; target_devices may be more (over-selection).
      add column wanted_updates integer,
      -- What its strategy starts from: the last round's server state, and the control variate handed to devices.
      add column state_sha256 text references blobs (sha256),
      add column control_sha256 text references blobs (sha256),
      -- {noise_multiplier, clip_norm, ...}; the seed is secret, and deleted with the updates.
      add column privacy jsonb,
      add column noise_seed text,
      add column accuracy double precision,
      add column loss double precision,
      -- Per update: norm, cosine to the median, non-finite values.
      add column screening jsonb,
      add column secure jsonb`,
    `create index rounds_by_job on rounds (job_id, round_number) where job_id is not null`,
    `create index rounds_by_federation on rounds (federation_id) where federation_id is not null`,

    `alter table updates
      add column control_sha256 text references blobs (sha256),
      -- The round whose model it was trained from, where that is an earlier one (asynchronous jobs).
      add column base_round_id uuid,
      add column staleness integer`,
    // An asynchronous round includes devices that still train from an earlier round's model.
    `alter table round_participants add column base_round_id uuid`,
    `create index round_participants_by_base on round_participants (base_round_id, device_id)
      where base_round_id is not null`,
    `create index updates_by_control on updates (control_sha256) where control_sha256 is not null`,
    `create index updates_by_device on updates (device_id, created_at)`,

    // Secure aggregation: each participant's message in each step. All of this is public, or encrypted for other devices.
    `create table secure_rounds (
      round_id uuid primary key references rounds (id) on delete cascade,
      status text not null,
      settings jsonb not null,
      -- The devices that count in each step, fixed when the step ends.
      cohort jsonb not null,
      deadline_at timestamptz not null,
      reason text
    )`,
    `create index secure_rounds_due on secure_rounds (deadline_at) where status not in ('done', 'failed')`,
    `create table secure_messages (
      round_id uuid not null references rounds (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      -- keys, shares, masked or unmask
      step text not null,
      message jsonb not null,
      received_at timestamptz not null,
      primary key (round_id, step, device_id)
    )`,
  ],
} as const
