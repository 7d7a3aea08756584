import { badRequest } from '../../domain/errors.ts'
import type { Reading } from './reading.ts'

const MAX_VALUES = 100

/** Counts of every combination of two variables' values; null where fewer devices than `minDevices` say both. */
export const collectTable = async (
  pages: AsyncIterable<readonly Reading[]>,
  { minDevices, names }: { readonly minDevices: number; readonly names: readonly [string, string] },
): Promise<number[][] | null> => {
  const rows = new Map<string, Map<string, number>>()
  const columns = new Set<string>()
  const devices = new Set<number>()
  for await (const page of pages) {
    for (const { device, values } of page) {
      const [row, column] = [wordOf(values[0]), wordOf(values[1])]
      if (row === null || column === null) continue
      const counts = rows.get(row) ?? new Map<string, number>()
      rows.set(row, counts)
      counts.set(column, (counts.get(column) ?? 0) + 1)
      columns.add(column)
      if (devices.size < minDevices) devices.add(device)
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
  if (devices.size < minDevices) return null
  return [...rows.values()].map((counts) => [...columns].map((column) => counts.get(column) ?? 0))
}

/** Texts, truth values and numbers are categories; lists and objects are not. */
const wordOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number' ? JSON.stringify(value) : null
