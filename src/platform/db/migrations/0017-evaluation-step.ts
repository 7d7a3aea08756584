/** After a job's last round, its devices evaluate the last model. */
export const evaluationStep = {
  name: '0017-evaluation-step',
  statements: [
    // How long to wait for devices; null while none are evaluating.
    `alter table rounds add column evaluation_until timestamptz`,
    `create index rounds_by_evaluation on rounds (evaluation_until) where evaluation_until is not null`,
    `create table evaluations (
      -- The round whose new model is evaluated.
      round_id uuid not null references rounds (id) on delete cascade,
      device_id uuid not null references devices (id) on delete cascade,
      -- asked, reported, failed or missed
      state text not null,
      num_samples bigint,
      metrics jsonb,
      reason text,
      asked_at timestamptz not null,
      reported_at timestamptz,
      primary key (round_id, device_id)
    )`,
    `create index evaluations_asked on evaluations (device_id) where state = 'asked'`,
    // How the job ends after the evaluation of its last model: {event, endedBy, reason}.
    `alter table training_jobs add column ending jsonb`,
  ],
} as const
