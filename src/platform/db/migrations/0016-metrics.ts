/** Named metrics that devices report, of the models they trained and of the model that their round distributed. */
export const metrics = {
  name: '0016-metrics',
  statements: [
    `alter table updates
      -- By name, beside local_loss and local_accuracy.
      add column metrics jsonb,
      -- {numSamples, metrics}: the distributed model on held-out data.
      add column evaluation jsonb`,
    `create index updates_by_base_round on updates (base_round_id) where base_round_id is not null`,
    `alter table rounds
      -- Summaries by name, of the models that its devices trained.
      add column metrics jsonb,
      -- {devices, numSamples, metrics}: of the model that it distributed, and of the one that it made.
      add column global_evaluation jsonb,
      add column evaluation jsonb`,
    `create index rounds_by_aggregated_model on rounds (aggregated_model_id) where aggregated_model_id is not null`,
  ],
} as const
