/** Which running plans have reports that they have not been checked for: found again after a failure or the end of a process. */
export const reportedPlans = {
  name: '0044-reported-plans',
  statements: [
    `create table reported_plans (
      -- A plan may have several rows: reports only add rows, so that they do not wait for each other.
      ordinal bigint generated always as identity primary key,
      plan_id uuid not null,
      kind text not null
    )`,
    // Reports that earlier releases did not act on.
    `insert into reported_plans (plan_id, kind)
      select id, 'rollout' from rollouts where status = 'active'
      union all select id, 'deployment' from deployments where status = 'started'`,
  ],
} as const
