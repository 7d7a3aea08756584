/** The number of devices that report to exactly these groups. */
export interface Cell {
  readonly groupIds: ReadonlySet<string>
  readonly devices: number
}

/** A group that is left out, because together with `of` it would reveal the figures of few devices. */
export interface Withheld {
  readonly id: string
  readonly of: string
}

/**
 * If a group contains others, its figures minus theirs are those of its remaining devices. If these are fewer than may be
 * shown, the smallest contained group is left out too (complementary suppression; ties by id), until no such rest remains. The
 * same applies to the smaller of two overlapping groups that differ by fewer devices.
 * Considers each contained group by itself and all of them together, but not combinations of several queries.
 * @param shown ids of the groups that are large enough
 */
export const withheldAgainstSubtraction = (
  cells: readonly Cell[],
  shown: readonly string[],
  minDevices: number,
): readonly Withheld[] => {
  const isTelling = (rest: number): boolean => rest > 0 && rest < minDevices
  const sizes = new Map(shown.map((id) => [id, 0]))
  // For each group, the groups that contain all of its devices.
  const holders = new Map<string, string[]>()
  for (const { groupIds, devices } of cells) {
    for (const id of groupIds) {
      if (!sizes.has(id)) continue
      sizes.set(id, sizes.get(id)! + devices)
      const others = holders.get(id) ?? [...groupIds].filter((other) => other !== id && sizes.has(other))
      holders.set(
        id,
        others.filter((other) => groupIds.has(other)),
      )
    }
  }
  const bySize = [...shown].sort((a, b) => sizes.get(a)! - sizes.get(b)! || (a < b ? -1 : 1))
  const inside = new Map(shown.map((id): [string, string[]] => [id, []]))
  for (const part of bySize) for (const whole of holders.get(part) ?? []) inside.get(whole)!.push(part)
  const withheld = new Map<string, Withheld>()

  // The difference between the figures of two such groups depends on few devices, some with a minus sign.
  for (const [at, large] of bySize.entries()) {
    for (const small of bySize.slice(0, at)) {
      if (withheld.has(small) || inside.get(large)!.includes(small)) continue
      const apart = cells.reduce(
        (sum, { groupIds, devices }) => sum + (groupIds.has(large) === groupIds.has(small) ? 0 : devices),
        0,
      )
      if (isTelling(apart)) withheld.set(small, { id: small, of: large })
    }
  }

  const smallestTelling = (whole: string): string | undefined => {
    const parts = inside.get(whole)!.filter((part) => !withheld.has(part))
    const alone = parts.find((part) => isTelling(sizes.get(whole)! - sizes.get(part)!))
    if (alone !== undefined || parts.length === 0) return alone
    const rest = cells.reduce(
      (sum, { groupIds, devices }) =>
        groupIds.has(whole) && !parts.some((part) => groupIds.has(part)) ? sum + devices : sum,
      0,
    )
    return isTelling(rest) ? parts[0] : undefined
  }

  for (const whole of bySize) {
    if (withheld.has(whole)) continue
    for (let part = smallestTelling(whole); part !== undefined; part = smallestTelling(whole)) {
      withheld.set(part, { id: part, of: whole })
    }
  }
  return [...withheld.values()]
}
