/** Plans store the version they were created for, reports when metrics were measured, and replays lease their dead letters. */
export const pinnedVersions = {
  name: '0041-pinned-versions',
  statements: [
    // The number of the version that the label or number meant at the plan's creation; null: none yet, or an older plan.
    `alter table rollouts add column version_number integer`,
    `alter table deployments add column version_number integer`,
    `alter table experiment_variants add column version_number integer`,
    // When the device reported the metrics; null: with its last report.
    `alter table plan_reports add column measured_at timestamptz`,
    // A replay's lease on the letter.
    `alter table integration_dead_letters add column lease_until timestamptz`,
  ],
} as const
