import { setImmediate } from 'node:timers/promises'
import type { Column } from './basis.ts'
import type { Cell } from './memberships.ts'

/** A few milliseconds of computation. */
const STEPS_BETWEEN_PAUSES = 200_000
/** That objects and keys of maps are created for a cell. */
const STEPS_FOR_CELL = 20

export type Work = ReturnType<typeof createWork>

/** Counts the steps, and lets other requests run in between. */
export const createWork = (maxSteps: number) => {
  let steps = 0
  let pausedAt = 0
  return {
    isOver: () => steps > maxSteps,
    async spend(more: number): Promise<void> {
      steps += more
      if (steps - pausedAt < STEPS_BETWEEN_PAUSES) return
      pausedAt = steps
      await setImmediate()
    },
  }
}

/** The cells of these groups only. */
export const restrictedTo = async (
  cells: readonly Cell[],
  considered: Uint8Array,
  work: Work,
): Promise<readonly Cell[]> => {
  if (considered.every((one) => one === 1)) return cells
  const merged = new Map<string, { readonly groups: Uint16Array; devices: number }>()
  for (const cell of cells) {
    await work.spend(STEPS_FOR_CELL + cell.groups.length)
    const groups = cell.groups.filter((group) => considered[group] === 1)
    if (groups.length === 0) continue
    const name = Buffer.from(groups.buffer).toString('latin1')
    const same = merged.get(name)
    if (same === undefined) merged.set(name, { groups, devices: cell.devices })
    else same.devices += cell.devices
  }
  return [...merged.values()]
}

/** The indexes of each group's cells. */
const cellsByGroup = async (cells: readonly Cell[], count: number, work: Work): Promise<readonly Uint32Array[]> => {
  const lengths = new Uint32Array(count)
  for (const { groups } of cells) {
    for (const group of groups) lengths[group]!++
    await work.spend(groups.length)
  }
  const byGroup = Array.from(lengths, (length) => new Uint32Array(length))
  lengths.fill(0)
  for (const [index, { groups }] of cells.entries()) {
    for (const group of groups) byGroup[group]![lengths[group]!++] = index
    await work.spend(groups.length)
  }
  return byGroup
}

/**
 * A group with `minDevices` devices that are in no other one can be shown whatever the others are: each combination that uses
 * it depends on these devices. This applies repeatedly, so that of disjoint or nested groups none is left to consider.
 * @returns the number of devices of each group
 */
export const dropGroupsWithOwnDevices = async (
  cells: readonly Cell[],
  considered: Uint8Array,
  minDevices: number,
  work: Work,
): Promise<Float64Array> => {
  const byGroup = await cellsByGroup(cells, considered.length, work)
  const sizes = new Float64Array(considered.length)
  const own = new Float64Array(considered.length)
  const next: number[] = []
  // Of each cell, how many groups are left, and the sum of their numbers: if one is left, its number.
  const counts = new Uint16Array(cells.length)
  const sums = new Uint32Array(cells.length)
  const update = (index: number): void => {
    if (counts[index] !== 1) return
    const [group, { devices }] = [sums[index]!, cells[index]!]
    if (own[group]! < minDevices && own[group]! + devices >= minDevices) next.push(group)
    own[group]! += devices
  }
  for (const [index, { groups, devices }] of cells.entries()) {
    for (const group of groups) {
      sizes[group]! += devices
      sums[index]! += group
    }
    counts[index] = groups.length
    update(index)
    await work.spend(groups.length)
  }
  for (let group = next.pop(); group !== undefined; group = next.pop()) {
    considered[group] = 0
    for (const index of byGroup[group]!) {
      counts[index]!--
      sums[index]! -= group
      update(index)
    }
    await work.spend(byGroup[group]!.length)
  }
  return sizes
}

/** The cells as columns: first those that fewer groups need, then those with more devices; and the columns of each group. */
export const columnsOf = async (cells: readonly Cell[], count: number, work: Work) => {
  const alike = new Map<number, Cell[]>()
  for (const cell of cells) {
    const rank = cell.groups.length * 2 ** 32 - cell.devices
    const others = alike.get(rank)
    if (others === undefined) alike.set(rank, [cell])
    else others.push(cell)
    await work.spend(STEPS_FOR_CELL)
  }
  const all: Column[] = []
  for (const [, some] of [...alike].sort(([a], [b]) => a - b)) {
    for (const { groups, devices } of some) {
      all.push({ index: all.length, groups, devices, unused: devices })
      await work.spend(STEPS_FOR_CELL)
    }
  }
  const byGroup = await cellsByGroup(all, count, work)
  return { all, count, of: (group: number) => Array.from(byGroup[group]!, (index) => all[index]!) }
}

export type Columns = Awaited<ReturnType<typeof columnsOf>>
