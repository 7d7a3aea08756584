/** Jobs that were resumed or extended, and what retention has deleted of ended jobs. */
export const resumedJobs = {
  name: '0018-resumed-jobs',
  statements: [
    `alter table training_jobs
      -- When it was last resumed or extended.
      add column resumed_at timestamptz,
      -- When what its strategy carries from round to round was deleted.
      add column state_deleted_at timestamptz`,
    `create index training_jobs_with_state on training_jobs (ended_at)
      where state_sha256 is not null or control_sha256 is not null`,
  ],
} as const
