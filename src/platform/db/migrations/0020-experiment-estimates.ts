/** The measurements of an experiment's variants over time: the points of its curves. */
export const experimentEstimates = {
  name: '0020-experiment-estimates',
  statements: [
    `create table experiment_estimates (
      experiment_id uuid not null references experiments (id) on delete cascade,
      -- Counts the points of one experiment: of two processes that add the same one, the second adds nothing.
      point integer not null,
      variant integer not null,
      at timestamptz not null,
      -- Of the primary metric: devices, the mean of their means, and the sum of squared deviations from it.
      devices bigint not null,
      mean double precision not null constraint experiment_estimates_mean_range
        check (mean > '-Infinity' and mean < 'Infinity'),
      m2 double precision not null constraint experiment_estimates_m2_range
        check (m2 > '-Infinity' and m2 < 'Infinity'),
      primary key (experiment_id, point, variant)
    )`,
  ],
} as const
