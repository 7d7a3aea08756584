/** Devices that report to the same groups, and how many they are. */
export interface Cell {
  readonly groupIds: ReadonlySet<string>
  readonly devices: number
}

/** A group that is left out, so that the figures of `of` reveal nothing about one of its devices. */
export interface Withheld {
  readonly id: string
  readonly of: string
}

/**
 * Where a group holds others, its figures minus theirs are those of its remaining devices. Where these are fewer than may
 * be shown, the smallest group inside is left out too (complementary suppression; ties by id), until no such rest is left. The same
 * goes for the smaller of two groups that overlap, and differ by fewer devices.
 * It looks at each group inside by itself and at all of them together; what takes several queries is not seen here.
 * @param shown ids of the groups that are large enough
 */
export const withheldAgainstSubtraction = (
  cells: readonly Cell[],
  shown: readonly string[],
  minDevices: number,
): readonly Withheld[] => {
  const isTelling = (rest: number): boolean => rest > 0 && rest < minDevices
  const sizes = new Map(shown.map((id) => [id, 0]))
  // The groups that every device of a group is in as well: those that hold it.
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

  // Two groups that differ by few devices: the difference of their figures is these devices', some with a minus.
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
