import { badRequest } from '../../domain/errors.ts'
import type { Reading } from './reading.ts'

const MAX_VALUES = 100

interface Cell {
  count: number
  /** At most `minDevices` of its devices, which are enough to decide what is shown. */
  readonly devices: Set<number>
}

type Rows = Map<string, Map<string, Cell>>

export interface Contingency {
  /** Empty if every value is left out. */
  readonly table: number[][]
  /** How many values of each variable are left out. */
  readonly withheld: readonly [rows: number, columns: number]
}

const union = (cells: Iterable<Cell>): number => {
  const all = new Set<number>()
  for (const { devices } of cells) for (const device of devices) all.add(device)
  return all.size
}

/**
 * Leaves out values that fewer than `minDevices` devices report, because a test's figures would reveal them. Repeats this,
 * because other values may then have too few devices.
 */
const withoutSmall = (rows: Rows, minDevices: number): { rows: Rows; columns: string[] } => {
  let columns = [...new Set([...rows.values()].flatMap((cells) => [...cells.keys()]))]
  let kept = [...rows]
  for (let before = -1; before !== kept.length + columns.length; ) {
    before = kept.length + columns.length
    const cellsOf = (cells: Map<string, Cell>) => columns.flatMap((column) => cells.get(column) ?? [])
    kept = kept.filter(([, cells]) => union(cellsOf(cells)) >= minDevices)
    columns = columns.filter((column) => union(kept.flatMap(([, cells]) => cells.get(column) ?? [])) >= minDevices)
  }
  return { rows: new Map(kept), columns }
}

/** Counts every combination of two variables' values; null if fewer than `minDevices` devices report both. */
export const collectTable = async (
  pages: AsyncIterable<readonly Reading[]>,
  { minDevices, names }: { readonly minDevices: number; readonly names: readonly [string, string] },
): Promise<Contingency | null> => {
  const rows: Rows = new Map()
  const columns = new Set<string>()
  for await (const page of pages) {
    for (const { device, values } of page) {
      const [row, column] = [wordOf(values[0]), wordOf(values[1])]
      if (row === null || column === null) continue
      const cells = rows.get(row) ?? new Map<string, Cell>()
      rows.set(row, cells)
      const cell = cells.get(column) ?? { count: 0, devices: new Set() }
      cells.set(column, cell)
      cell.count++
      if (cell.devices.size < minDevices) cell.devices.add(device)
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
  if (union([...rows.values()].flatMap((cells) => [...cells.values()])) < minDevices) return null
  const shown = withoutSmall(rows, minDevices)
  return {
    table: [...shown.rows.values()].map((cells) => shown.columns.map((column) => cells.get(column)?.count ?? 0)),
    withheld: [rows.size - shown.rows.size, columns.size - shown.columns.length],
  }
}

/** Strings, booleans, and numbers are categories; arrays and objects are not. */
const wordOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number' ? JSON.stringify(value) : null
