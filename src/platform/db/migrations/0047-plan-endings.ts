const PHASE_EVENTS = `('create', 'approve', 'promote', 'replace', 'switch')`

/** Rollouts store who ended them, and deployments how long each of their phases may last. */
export const planEndings = {
  name: '0047-plan-endings',
  statements: [
    // user or service; null until it ends.
    `alter table rollouts add column ended_by text`,
    `update rollouts r set ended_by = (
        select case when e.actor is null then 'service' else 'user' end from plan_events e
        where e.plan_id = r.id and e.event in ('reach', 'rollback') order by e.ordinal desc limit 1)
      where r.status in ('completed', 'rolled_back')`,
    // Null for a deployment without a deadline.
    `alter table deployments add column phase_seconds double precision
      constraint deployments_phase_seconds_range check (phase_seconds > '-Infinity' and phase_seconds < 'Infinity')`,
    `update deployments d set phase_seconds = extract(epoch from d.deadline_at - coalesce((
        select e.at from plan_events e where e.plan_id = d.id and e.event in ${PHASE_EVENTS} and e.at < d.deadline_at
        order by e.ordinal desc limit 1), d.created_at))`,
  ],
} as const
