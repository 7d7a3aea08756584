/** The workload's own record of acknowledged writes, independent of the service. */
export const createRecords = () => ({
  groups: new Map<string, string>(),
  /** By label: hash and version number of an uploaded version. */
  versions: new Map<string, { readonly sha256: string; readonly version: number }>(),
  updates: [] as { readonly roundId: string; readonly device: string; readonly sha256: string }[],
  /** The version of each plan. */
  rollouts: new Map<string, string>(),
  privateRounds: new Set<string>(),
  /** The versions assigned to devices. */
  given: new Map<
    string,
    { readonly device: string; readonly planId: string; readonly version: number; readonly sha256: string }
  >(),
  /** Ids of the events that the integration's receiver accepted. */
  received: new Set<number>(),
  /** Violations, as they are detected. */
  violations: [] as string[],
  /** Counts of acknowledged writes and failed requests. */
  counts: new Map<string, number>(),
})

export type Records = ReturnType<typeof createRecords>

export const count = ({ counts }: Records, what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

export const violation = (records: Records, invariant: string, detail: string): void => {
  records.violations.push(`${invariant}: ${detail}`)
}
