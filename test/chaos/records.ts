/** What was acknowledged, by whom: the workload's own account, which nothing of the service touches. */
export const createRecords = () => ({
  groups: new Map<string, string>(),
  /** By label: hash and place of an uploaded version. */
  versions: new Map<string, { readonly sha256: string; readonly version: number }>(),
  updates: [] as { readonly roundId: string; readonly device: string; readonly sha256: string }[],
  /** The version of each plan. */
  rollouts: new Map<string, string>(),
  privateRounds: new Set<string>(),
  /** What devices were given to run. */
  given: new Map<
    string,
    { readonly device: string; readonly planId: string; readonly version: number; readonly sha256: string }
  >(),
  /** Ids of the events that the receiver of the integration has taken. */
  received: new Set<number>(),
  /** What must not happen, as it is seen. */
  violations: [] as string[],
  /** How often something was acknowledged, and how requests failed. */
  counts: new Map<string, number>(),
})

export type Records = ReturnType<typeof createRecords>

export const count = ({ counts }: Records, what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

export const violation = (records: Records, invariant: string, detail: string): void => {
  records.violations.push(`${invariant}: ${detail}`)
}
