import { badRequest } from '../../domain/errors.ts'
import type { Reading } from './reading.ts'

const MAX_VALUES = 100

interface Cell {
  count: number
  /** At most `minDevices` of each organization's devices, which are enough to decide what is shown. */
  readonly devices: Map<string, Set<number>>
}

type Rows = Map<string, Map<string, Cell>>

interface Contingency {
  /** Empty if every value is left out. */
  readonly table: number[][]
  /** How many values of each variable are left out. */
  readonly withheld: readonly [rows: number, columns: number]
}

/** Counts the devices of each organization in these cells. */
const devicesIn = (cells: readonly Cell[]): number[] => {
  const all = new Map<string, Set<number>>()
  for (const { devices } of cells) {
    for (const [org, some] of devices) {
      const known = all.get(org) ?? new Set()
      all.set(org, known)
      for (const device of some) known.add(device)
    }
  }
  return [...all.values()].map(({ size }) => size)
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

/**
 * Every member sees the results of all queries and knows its own devices. So none may be able to subtract these and be left with
 * the count of a few devices of others.
 */
const mayCount = (cells: readonly Cell[], minDevices: number, byMember: boolean): boolean => {
  const counts = devicesIn(cells)
  const devices = sumOf(counts)
  if (devices < minDevices) return false
  if (byMember) return counts.every((count) => count >= minDevices)
  const others = devices - Math.max(...counts)
  return others === 0 || others >= minDevices
}

/** Whether a query compares members, so that its result depends on the counts of single members. */
export const namesMember = (names: readonly string[]): boolean => names.includes('federation_member')

/** Leaves out values that too few devices report. Repeats this, because other values may then have too few devices. */
const withoutSmall = (rows: Rows, minDevices: number, byMember: boolean): { rows: Rows; columns: string[] } => {
  let columns = [...new Set([...rows.values()].flatMap((cells) => [...cells.keys()]))]
  let kept = [...rows]
  for (let before = -1; before !== kept.length + columns.length; ) {
    before = kept.length + columns.length
    const cellsOf = (cells: Map<string, Cell>) => columns.flatMap((column) => cells.get(column) ?? [])
    kept = kept.filter(([, cells]) => mayCount(cellsOf(cells), minDevices, byMember))
    columns = columns.filter((column) =>
      mayCount(
        kept.flatMap(([, cells]) => cells.get(column) ?? []),
        minDevices,
        byMember,
      ),
    )
  }
  return { rows: new Map(kept), columns }
}

/**
 * Counts every combination of two variables' values; null if fewer than `minDevices` devices report both.
 * @param pages readings grouped by organization
 */
export const collectTable = async (
  pages: AsyncIterable<readonly Reading[]>,
  { minDevices, names }: { readonly minDevices: number; readonly names: readonly [string, string] },
): Promise<Contingency | null> => {
  const rows: Rows = new Map()
  const columns = new Set<string>()
  for await (const page of pages) {
    for (const { device, groupId: org, values } of page) {
      const [row, column] = [wordOf(values[0]), wordOf(values[1])]
      if (row === null || column === null) continue
      const cells = rows.get(row) ?? new Map<string, Cell>()
      rows.set(row, cells)
      const cell = cells.get(column) ?? { count: 0, devices: new Map() }
      cells.set(column, cell)
      cell.count++
      const devices = cell.devices.get(org) ?? new Set()
      cell.devices.set(org, devices)
      if (devices.size < minDevices) devices.add(device)
      columns.add(column)
      for (const [name, found] of [
        [names[0], rows.size],
        [names[1], columns.size],
      ] as const) {
        if (found > MAX_VALUES) {
          throw badRequest(
            `'${name}' has more than ${MAX_VALUES} different values: a chi-square test needs categories.`,
          )
        }
      }
    }
  }
  if (sumOf(devicesIn([...rows.values()].flatMap((cells) => [...cells.values()]))) < minDevices) return null
  const shown = withoutSmall(rows, minDevices, namesMember(names))
  return {
    table: [...shown.rows.values()].map((cells) => shown.columns.map((column) => cells.get(column)?.count ?? 0)),
    withheld: [rows.size - shown.rows.size, columns.size - shown.columns.length],
  }
}

/** Strings, booleans, and numbers are categories; arrays and objects are not. */
const wordOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number' ? JSON.stringify(value) : null
