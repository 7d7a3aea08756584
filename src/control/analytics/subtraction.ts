import {
  type Basis,
  type Column,
  type Combination,
  combinationIn,
  extend,
  isCertain,
  type Row,
  restOn,
} from './basis.ts'
import { type Columns, columnsOf, createWork, dropGroupsWithOwnDevices, restrictedTo, type Work } from './columns.ts'
import type { Cell } from './memberships.ts'

/** A group that is left out: because few devices could be computed with it, or because deciding that takes too long. */
export interface Withheld {
  readonly id: string
  readonly because: 'few devices' | 'many groups'
}

/** A column that extends a basis, or a part of it with a smaller weight. */
interface Extension {
  readonly basis: Basis
  readonly weight: number
  readonly combination: Combination
  readonly column: Column
}

/** About how many bases differ. The minimum group sizes of all presets are below this, so that each device can have its own. */
const MAX_BASES = 12
/** A few seconds of computation, during which other requests run. */
const MAX_STEPS = 200_000_000
/**
 * Linear combinations of the groups' sums can isolate few devices, even if each group has many. Of the groups in `shown`, which
 * are large enough by themselves, withholds the smaller ones until every n independent combinations together depend on at least
 * n times `minDevices` devices (docs/decisions/0172).
 * @param groupIds the groups that the cells name by their number
 */
export const withheldAgainstSubtraction = async (
  cells: readonly Cell[],
  groupIds: readonly string[],
  shown: readonly string[],
  minDevices: number,
  maxSteps = MAX_STEPS,
): Promise<readonly Withheld[]> => {
  const work = createWork(maxSteps)
  const visible = new Set(shown)
  const considered = Uint8Array.from(groupIds, (id) => (visible.has(id) ? 1 : 0))
  const publishedCells = await restrictedTo(cells, considered, work)
  const sizes = await dropGroupsWithOwnDevices(publishedCells, considered, minDevices, work)
  const bySize = [...considered.keys()]
    .filter((group) => considered[group] === 1)
    .sort((a, b) => sizes[b]! - sizes[a]! || (groupIds[a]! < groupIds[b]! ? 1 : -1))
  const columns = await columnsOf(await restrictedTo(publishedCells, considered, work), groupIds.length, work)
  const withheld = await withheldOf(bySize, columns, minDevices, work)
  return withheld.map(([group, because]) => ({ id: groupIds[group]!, because }))
}

/**
 * A combination that is not zero everywhere is not zero somewhere in each basis of the columns. So it is sufficient that
 * bases without common devices exist, `minDevices` in number; searches for them group by group. Equal bases are one with a
 * weight, until they have to differ.
 */
const withheldOf = async (
  bySize: readonly number[],
  columns: Columns,
  minDevices: number,
  work: Work,
): Promise<readonly (readonly [group: number, because: Withheld['because']])[]> => {
  const withheld: [number, Withheld['because']][] = []
  const smallest = Math.ceil(minDevices / MAX_BASES)
  const independent: number[] = []
  const isIndependent = new Uint8Array(columns.count)
  let bases: Basis[] = [{ weight: minDevices, columns: [], inverse: [] }]
  for (const group of bySize) {
    const own = columns.of(group)
    await work.spend(own.length)
    if (work.isOver() && own.some(({ groups }) => groups.some((other) => isIndependent[other] === 1))) {
      withheld.push([group, 'many groups'])
      continue
    }
    const row: Row = new Uint8Array(columns.all.length)
    for (const { index } of own) row[index] = 1
    const extensions = await extensionsFor(bases, { row, own, independent, smallest }, columns, work)
    if (extensions === 'not independent') continue
    if (extensions === 'few devices') {
      withheld.push([group, extensions])
      continue
    }
    await work.spend((extensions.length - bases.length) * independent.length * columns.count)
    bases = extensions.map(({ basis, weight }, n) => ({
      weight,
      // The last part of each basis takes its columns over.
      ...(extensions[n + 1]?.basis === basis
        ? { columns: [...basis.columns], inverse: basis.inverse.map((one) => one.slice()) }
        : { columns: basis.columns, inverse: basis.inverse }),
    }))
    for (const [n, { combination, column }] of extensions.entries()) {
      await work.spend(extend(bases[n]!, group, row, combination, column))
    }
    independent.push(group)
    isIndependent[group] = 1
  }
  return withheld
}

/**
 * Finds columns that extend the bases by a group, and uses their devices. Splits bases so that at most half of a column's unused
 * devices are used at once, because groups that follow need some too, but not into weights below `smallest`.
 */
const extensionsFor = async (
  bases: readonly Basis[],
  group: {
    readonly row: Row
    readonly own: readonly Column[]
    readonly independent: readonly number[]
    readonly smallest: number
  },
  columns: Columns,
  work: Work,
): Promise<readonly Extension[] | 'few devices' | 'not independent'> => {
  const { row, own, independent, smallest } = group
  const extensions: Extension[] = []
  for (const basis of bases) {
    const [combination, steps] = combinationIn(basis, row, independent, columns.count)
    await work.spend(steps)
    const candidates = combination.nonzero.length > 0 ? columns.all : own
    for (let weight = basis.weight; weight > 0; ) {
      const enough = weight > smallest ? 2 * weight : weight
      const { column, isNew } = await searchColumn(candidates, row, combination, enough, work)
      const unused = column?.unused ?? 0
      const part = Math.min(weight, Math.max(Math.floor(unused / 2), smallest))
      if (column === null || unused < part) {
        for (const { column, weight } of extensions) column.unused += weight
        return isNew || !isCertain(combination) ? 'few devices' : 'not independent'
      }
      column.unused -= part
      extensions.push({ basis, weight: part, combination, column })
      weight -= part
    }
  }
  return extensions
}

/**
 * Finds a column that extends the basis: if possible with enough unused devices, and then the one with the most of those that
 * the fewest groups need; otherwise the one with the most unused devices. `isNew` is false if the combination is the group.
 */
const searchColumn = async (
  columns: readonly Column[],
  group: Row,
  combination: Combination,
  enough: number,
  work: Work,
): Promise<{ readonly column: Column | null; readonly isNew: boolean }> => {
  let best: Column | null = null
  let isNew = false
  let steps = 0
  for (const column of columns) {
    const most: number = best?.unused ?? 0
    if (most >= enough && (column.groups.length > best!.groups.length || column.devices <= most)) break
    if (++steps > 10_000) {
      await work.spend(steps)
      steps = 0
    }
    if (isNew && column.unused <= most) continue
    steps += column.groups.length
    if (restOn(column, group, combination) === 0) continue
    isNew = true
    if (column.unused > most) best = column
  }
  await work.spend(steps)
  return { column: best, isNew }
}
