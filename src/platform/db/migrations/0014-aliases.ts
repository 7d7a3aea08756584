/** Movable names for versions, such as `production`, and their history. */
export const aliases = {
  name: '0014-aliases',
  statements: [
    `create table model_aliases (
      model_id uuid not null,
      alias text not null,
      version integer not null,
      moved_at timestamptz not null,
      -- The key that asked for it.
      moved_by uuid,
      primary key (model_id, alias),
      foreign key (model_id, version) references model_versions (model_id, version) on delete cascade
    )`,
    `create table model_alias_moves (
      ordinal bigint generated always as identity primary key,
      model_id uuid not null references models (id) on delete cascade,
      alias text not null,
      -- Null: there was no such alias before, or there is none after.
      from_version integer,
      to_version integer,
      moved_at timestamptz not null,
      moved_by uuid
    )`,
    `create index model_alias_moves_by_model on model_alias_moves (model_id, ordinal)`,
  ],
} as const
