export interface KnownException {
  readonly path: string
  readonly table: string
  readonly reason: string
  /** The file writes it too; else it may only read it. */
  readonly writes?: true
}

const heartbeats = (table: string): KnownException => ({
  path: 'src/control/fleet/heartbeats/heartbeats.store.ts',
  table,
  reason: 'a heartbeat is one statement: many of them are written, and told of rounds, in one round trip',
})

const contributions = (table: string): KnownException => ({
  path: 'src/control/federations/members.store.ts',
  table,
  reason: "the list of members counts what each one's devices contributed, in the statement that sorts and pages it",
})

const adoption = (table: string): KnownException => ({
  path: 'src/control/access/orgs/orgs.store.ts',
  table,
  reason: 'the first start under token enrollment hands over what belongs to no organization, in one place',
  writes: true,
})

const garbage = (table: string): KnownException => ({
  path: 'src/control/catalog/files/files.store.ts',
  table,
  reason: 'one statement finds the files that nothing refers to, and deletes their records',
})

/** What breaks the rule of tables today. The check fails for an entry that is no longer needed; nothing may be added. */
export const KNOWN: readonly KnownException[] = [
  ...['rounds', 'training_jobs', 'round_participants', 'federation_members'].map(heartbeats),
  ...['rounds', 'updates', 'devices'].map(contributions),
  ...['devices', 'device_counts', 'rounds', '?'].map(adoption),
  ...['updates', 'training_jobs', 'rounds'].map(garbage),
  {
    path: 'src/control/fleet/devices/devices.store.ts',
    table: 'keys',
    reason: 'a device and its key are inserted by one statement, so that neither is ever seen without the other',
    writes: true,
  },
  {
    path: 'src/control/delivery/policies/policies.store.ts',
    table: 'rounds',
    reason: 'a policy follows the rounds trained from its model, by a recursive query over them and its own decisions',
  },
  {
    path: 'src/control/delivery/deployments/targets.store.ts',
    table: 'devices',
    reason: 'targets are activated by the names of devices, in the statement that writes them',
  },
  {
    path: 'src/control/training/rounds/absent-devices.store.ts',
    table: 'devices',
    reason: "the time that a device has depends on its heartbeats' interval, in the statement that gives devices up",
  },
  {
    path: 'src/control/training/rounds/participants.store.ts',
    table: 'device_group_members',
    reason: "a device joins a group's round only while it is a member, in the statement that gives it its place",
  },
]
