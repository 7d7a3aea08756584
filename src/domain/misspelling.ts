/**
 * Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbors each cost 1, and no part
 * is edited twice (Damerau 1964; restricted form of Boytsov 2011, section 3.1). O(a * b) time.
 */
const editDistance = (a: string, b: string): number => {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, substitution)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) best = Math.min(best, beforeLast[j - 2]! + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

const withoutStyle = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

const MAX_EDITS = 2
/** Known names are much shorter; the limit bounds the cost of comparing any input. */
const MAX_LENGTH = 100

/**
 * Returns the known name that `name` appears to misspell, or null. They must be equal except for case, underscores and hyphens,
 * or differ by at most 2 edits and one edit per three characters. The nearest wins; ties go to the first.
 */
export const meantBy = (name: string, known: Iterable<string>): string | null => {
  if (name.length > MAX_LENGTH) return null
  const plain = withoutStyle(name)
  let nearest: string | null = null
  let fewest = MAX_EDITS + 1
  for (const candidate of known) {
    if (withoutStyle(candidate) === plain) return candidate
    const allowed = Math.min(MAX_EDITS, Math.floor(Math.max(name.length, candidate.length) / 3))
    if (Math.abs(candidate.length - name.length) > allowed) continue
    const edits = editDistance(name, candidate)
    if (edits > allowed || edits >= fewest) continue
    nearest = candidate
    fewest = edits
  }
  return nearest
}

/**
 * Other names for optional fields that limit access, who receives something, or the privacy spent. Without the field more is
 * granted than was meant, so these names are not ignored like other unknown ones. Names that devices may send as fields of their
 * own, such as `training` in a heartbeat, do not belong here: a refusal would take them offline.
 */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  scopes: ['permissions', 'roles', 'role', 'access'],
  role: ['permissions', 'scopes', 'access'],
  org_id: ['org', 'organization', 'organization_id', 'organisation', 'organisation_id'],
  expires_in_days: [
    ...['expires', 'expires_at', 'expires_in', 'expiry', 'expiration', 'ttl'],
    ...['expires_in_hours', 'expires_in_minutes', 'expires_in_seconds'],
  ],
  overlap_hours: ['overlap', 'overlap_days', 'overlap_minutes', 'overlap_seconds'],
  devices: ['device_id', 'device_ids', 'targets'],
  group: [
    ...['group_id', 'group_ids', 'group_name', 'device_group', 'target_group', 'target_groups'],
    ...['device', 'device_id', 'devices', 'device_ids', 'targets'],
  ],
  target_groups: ['group', 'group_id', 'group_ids', 'groups', 'device_groups'],
  canary_group: ['canary_group_id', 'group', 'group_id', 'device_group'],
  rollout_percentage: ['percentage', 'max_percentage'],
  target_percentage: ['percentage', 'max_percentage'],
  topics: ['events', 'event_types'],
  rounds: ['num_rounds', 'max_rounds', 'total_rounds'],
  privacy: [
    ...[
      'differential_privacy',
      'dp',
      'privacy_budget',
      'epsilon_budget',
      'max_epsilon',
      'target_epsilon',
      'target_delta',
    ],
    ...['epsilon', 'delta', 'noise_multiplier', 'clip_norm', 'max_grad_norm'],
  ],
  secure_aggregation: ['secure', 'secagg', 'secure_agg', 'threshold'],
  target_epsilon: ['epsilon', 'max_epsilon', 'epsilon_budget'],
  target_delta: ['delta'],
  total_delta_budget: ['delta', 'total_delta', 'target_delta', 'delta_budget'],
}

/** Returns the known field that `name` is another name for, or null. */
export const otherNameOf = (name: string, known: readonly string[]): string | null => {
  if (name.length > MAX_LENGTH) return null
  const plain = withoutStyle(name)
  const isMeant = (field: string): boolean =>
    OTHER_NAMES[field]?.some((other) => withoutStyle(other) === plain) ?? false
  return known.find(isMeant) ?? null
}
