/** After a job's last round its devices are asked how the last model does. */
export const evaluationStep = {
  name: '0017-evaluation-step',
  statements: [
    // Until when devices are waited for; null while nobody is asked.
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
    // How the job ends once its last model is evaluated: {event, endedBy, reason}.
    `alter table training_jobs add column ending jsonb`,
  ],
} as const
