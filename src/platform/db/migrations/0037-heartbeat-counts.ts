/** Heartbeats of a device's last day: a count for each quarter of an hour up to `heartbeat_slot`, which counts them since 1970. */
export const heartbeatCounts = {
  name: '0037-heartbeat-counts',
  statements: ['alter table devices add column heartbeat_counts smallint[], add column heartbeat_slot integer'],
} as const
