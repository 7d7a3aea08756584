/** Numbers and labels of deleted versions, which are never used again. */
export const deletedVersions = {
  name: '0054-deleted-versions',
  statements: [
    `create table deleted_versions (
      model_id uuid not null references models (id) on delete cascade,
      version integer not null,
      -- With n.0.0 for version n without a label.
      label text not null,
      sha256 text not null,
      deleted_at timestamptz not null,
      primary key (model_id, version)
    )`,
  ],
} as const
