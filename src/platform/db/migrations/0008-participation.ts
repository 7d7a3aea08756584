/** Which devices train and are active, which devices acknowledged a round, and what a job is waiting for. */
export const participation = {
  name: '0008-participation',
  statements: [
    `alter table devices
      add column trains boolean not null default true,
      -- Seconds between its heartbeats, as they have come lately; null before the first.
      add column heartbeat_seconds real,
      -- When it was last missing from a round that had selected it.
      add column missed_at timestamptz`,

    // When the device first acknowledged the round: it fetched the plan or the model, or reported.
    `alter table round_participants add column acknowledged_at timestamptz`,
    `update round_participants set acknowledged_at = coalesce(fetched_at, reported_at)
      where fetched_at is not null or state = 'delivered'`,

    // When an active round must next be checked for absent devices; null if none are replaced.
    `alter table rounds add column review_at timestamptz`,

    `alter table training_jobs add column waiting_for text`,
  ],
} as const
