/** Versions that training has added to its model, and the names of round models. */
export const publishedVersions = {
  name: '0015-published-versions',
  statements: [
    `alter table model_versions
      -- Where it came from; null for what was uploaded.
      add column round_id uuid,
      add column round_number integer,
      add column job_id uuid,
      add column metrics jsonb`,
    // A round is published into a model only once, even after a crash.
    `create unique index model_versions_by_round on model_versions (model_id, round_id) where round_id is not null`,
    `create index model_versions_by_job on model_versions (job_id) where job_id is not null`,
    // Not a model name: 'my-model (round 7)' refers to the trained model, and need not be unique.
    `alter table models add column round_name text`,
    `create index models_by_round_name on models (round_name) where round_name is not null`,
  ],
} as const
