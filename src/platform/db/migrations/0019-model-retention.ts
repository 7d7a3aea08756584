/** Lets retention delete round models: rows that refer to them keep their ids and hashes as a record. */
export const modelRetention = {
  name: '0019-model-retention',
  statements: [
    `alter table rounds
      drop constraint rounds_global_model_id_fkey,
      drop constraint rounds_global_sha256_fkey,
      drop constraint rounds_aggregated_sha256_fkey,
      add column model_deleted_at timestamptz`,
    `create index rounds_by_global_model on rounds (global_model_id) where global_model_id is not null`,
    `alter table federation_models
      -- A round's result, shared without being asked: it goes with the round's model.
      add column is_result boolean not null default false`,
    `update federation_models s set is_result = true from rounds r
      where r.aggregated_model_id = s.model_id and r.federation_id = s.federation_id`,
  ],
} as const
