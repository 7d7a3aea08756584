/** Versions in other formats, and whose architecture fits the weights of a round's model. */
export const conversions = {
  name: '0021-conversions',
  statements: [
    `create table conversions (
      model_id uuid not null,
      version integer not null,
      format text not null,
      -- pending, running, ready, failed
      state text not null,
      -- Why it failed.
      reason text,
      sha256 text references blobs (sha256),
      size bigint,
      requested_at timestamptz not null,
      ended_at timestamptz,
      lease_owner text,
      lease_until timestamptz,
      attempts integer not null default 0,
      primary key (model_id, version, format),
      foreign key (model_id, version) references model_versions (model_id, version) on delete cascade
    )`,
    `create index conversions_unfinished on conversions (requested_at) where state in ('pending', 'running')`,
    `create index conversions_by_blob on conversions (sha256)`,
    // The model that was trained originally; its versions contain the graph.
    `alter table models add column architecture_model_id uuid references models (id) on delete set null`,
  ],
} as const
