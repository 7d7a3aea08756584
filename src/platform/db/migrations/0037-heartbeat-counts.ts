/** A device's heartbeats in the last day: counts per quarter hour, up to quarter hour `heartbeat_slot` since 1970. */
export const heartbeatCounts = {
  name: '0037-heartbeat-counts',
  statements: ['alter table devices add column heartbeat_counts smallint[], add column heartbeat_slot integer'],
} as const
