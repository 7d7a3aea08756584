/** What reads few of many rounds and participants. */
export const largeHistories = {
  name: '0051-large-histories',
  statements: [
    // For the erasure of a device.
    `create index round_participants_by_device on round_participants (device_id)`,
    // For integrations, which look for rounds that ended lately.
    `create index rounds_outside_jobs on rounds (ended_at) where job_id is null`,
    // For metrics, which count rounds: the table itself has all their plans.
    `create index rounds_by_status on rounds (status, org_id)`,
  ],
} as const
