/** Limits the interval between heartbeats, like every number in the database. */
export const heartbeatInterval = {
  name: '0008b-heartbeat-interval',
  statements: [
    `alter table devices add constraint devices_heartbeat_seconds_range
      check (heartbeat_seconds is null or (heartbeat_seconds >= 0 and heartbeat_seconds <= 300))`,
  ],
} as const
