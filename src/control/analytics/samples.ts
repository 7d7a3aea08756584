import { reportedNumber } from '../../domain/reported-number.ts'
import { type Moments, mergeMoments, momentsOf, NO_MOMENTS, quantileOf } from '../../domain/statistics/moments.ts'
import { type Cell, createMemberships } from './memberships.ts'
import type { Reading } from './reading.ts'

/** Statistics of one group's values of a numeric variable. */
export interface Sample {
  /** Moments of the values minus `shift`: sums of differences keep digits that sums of large values lose. */
  readonly shifted: Moments
  readonly shift: number
  readonly min: number
  readonly max: number
  /** Whether the group has at least `minDevices` devices. */
  readonly isLargeEnough: boolean
  /** A quantile of all values, linear between neighbors; null if the values were not kept. */
  quantile(p: number): number | null
}

interface Growing {
  moments: Moments
  min: number
  max: number
  readonly devices: Set<number>
  readonly pages: Float64Array[]
}

export interface Samples {
  readonly of: (groupId: string) => Sample | null
  /** Readings that are ignored because they are not numbers, or outside the range that is now accepted. */
  readonly skipped: number
  /** Whether a device is in more than one of the groups. */
  readonly overlap: boolean
  /** How many devices report to which groups, numbered as in `groupIds`; empty if no device is in more than one. */
  readonly cells: readonly Cell[]
}

/** Collects values by group: merges the moments of each page with those before it (Chan, Golub, LeVeque 1979). */
export const collectSamples = async (
  pages: AsyncIterable<readonly Reading[]>,
  groupIds: readonly string[],
  options: { readonly minDevices: number; readonly keepValues: boolean },
): Promise<Samples> => {
  const groups = new Map<string, Growing>()
  let shift: number | null = null
  let skipped = 0
  let overlap = false
  let before: Reading | undefined
  const numberOf = new Map(groupIds.map((id, number) => [id, number]))
  const memberships = createMemberships(groupIds.length)
  for await (const page of pages) {
    const byGroup = new Map<string, number[]>()
    for (const reading of page) {
      const { groupId, device, values } = reading
      // Readings are ordered by device, or by update.
      if (before?.device === device && before.groupId !== groupId) overlap = true
      before = reading
      const value = typeof values[0] === 'number' ? reportedNumber(values[0]) : null
      if (value === null) {
        skipped++
        continue
      }
      shift ??= value
      const group = groups.get(groupId) ?? newGroup()
      groups.set(groupId, group)
      memberships.add(device, numberOf.get(groupId)!)
      if (group.devices.size < options.minDevices) group.devices.add(device)
      const others = byGroup.get(groupId)
      if (others === undefined) byGroup.set(groupId, [value])
      else others.push(value)
    }
    for (const [groupId, values] of byGroup) addPage(groups.get(groupId)!, values, shift!, options.keepValues)
  }
  return {
    skipped,
    overlap,
    cells: overlap ? await memberships.cells() : [],
    of: (groupId) => {
      const group = groups.get(groupId)
      return group === undefined ? null : sampleOf(group, shift!, options.minDevices)
    },
  }
}

const newGroup = (): Growing => ({
  moments: NO_MOMENTS,
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
  devices: new Set(),
  pages: [],
})

const addPage = (group: Growing, values: readonly number[], shift: number, keepValues: boolean): void => {
  group.moments = mergeMoments(group.moments, momentsOf(values.map((value) => value - shift)))
  for (const value of values) {
    group.min = Math.min(group.min, value)
    group.max = Math.max(group.max, value)
  }
  if (keepValues) group.pages.push(Float64Array.from(values))
}

const sampleOf = (group: Growing, shift: number, minDevices: number): Sample => {
  let sorted: Float64Array | null = null
  return {
    shifted: group.moments,
    shift,
    min: group.min,
    max: group.max,
    isLargeEnough: group.devices.size >= minDevices,
    quantile(p) {
      sorted ??= joined(group.pages).sort()
      return quantileOf(sorted, p)
    },
  }
}

const joined = (pages: readonly Float64Array[]): Float64Array => {
  const all = new Float64Array(pages.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const page of pages) {
    all.set(page, at)
    at += page.length
  }
  return all
}
