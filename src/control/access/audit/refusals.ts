const PER_MINUTE = 60
const MINUTE_MS = 60_000
const MAX_ORGS = 10_000

/** Keeps refused attempts from filling the log: it admits at most 60 a minute for each organization and counts the others. */
export const createRefusals = (now: () => Date) => {
  const counts = new Map<string, { minute: number; admitted: number; unrecorded: number }>()
  return {
    /** Returns how many were not recorded since the last one that was; null if this one is not recorded either. */
    admit(orgId: string): { readonly unrecorded: number } | null {
      const minute = Math.floor(now().getTime() / MINUTE_MS)
      if (counts.size > MAX_ORGS) counts.clear()
      const count = counts.get(orgId) ?? { minute, admitted: 0, unrecorded: 0 }
      counts.set(orgId, count)
      if (count.minute !== minute) Object.assign(count, { minute, admitted: 0 })
      if (count.admitted >= PER_MINUTE) {
        count.unrecorded++
        return null
      }
      const { unrecorded } = count
      count.admitted++
      count.unrecorded = 0
      return { unrecorded }
    },
  }
}
