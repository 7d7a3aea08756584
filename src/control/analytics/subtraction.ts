import { setImmediate } from 'node:timers/promises'

/** The number of devices that report to exactly these groups. */
export interface Cell {
  readonly groupIds: ReadonlySet<string>
  readonly devices: number
}

/** A group that is left out: because few devices could be computed with it, or because deciding that takes too long. */
export interface Withheld {
  readonly id: string
  readonly because: 'few devices' | 'many groups'
}

/** A cell as a column of the matrix of groups and cells. */
interface Column {
  readonly devices: number
  /** How many of its devices are in no basis yet. */
  unused: number
  /** The independent groups that contain it, by their index. */
  readonly groups: number[]
}

/** As many columns as there are independent groups, whose square matrix is invertible. */
interface Basis {
  /** How many devices of each column it uses. */
  readonly weight: number
  readonly columns: Column[]
  readonly inverse: number[][]
}

/** Arithmetic modulo this prime is exact, with products below 2^53. Bases modulo a prime are also bases without it. */
const PRIME = 2 ** 26 - 5
/** So that the minimum group sizes of all presets need no weights above 1. */
const MAX_BASES = 12
/** About a second of computation, during which other requests run. */
const MAX_STEPS = 50_000_000

/**
 * Linear combinations of the groups' sums can isolate few devices, even if each group has many. Of the groups in `shown`, which
 * are large enough by themselves, withholds the smaller ones until every n independent combinations together depend on at least
 * n times `minDevices` devices (docs/decisions/0172).
 *
 * A combination that is not zero everywhere is not zero somewhere in each basis of the columns. So it is sufficient that
 * bases without common devices exist, `minDevices` in number; searches for them from the largest group to the smallest.
 */
export const withheldAgainstSubtraction = async (
  cells: readonly Cell[],
  shown: readonly string[],
  minDevices: number,
  maxSteps = MAX_STEPS,
): Promise<readonly Withheld[]> => {
  const { columns, columnsOf, sizes } = columnsFor(cells, shown)
  const bases = basesFor(minDevices)
  const withheld: Withheld[] = []
  let independent = 0
  let steps = 0
  const bySize = [...shown].sort((a, b) => sizes.get(b)! - sizes.get(a)! || (a < b ? 1 : -1))
  for (const id of bySize) {
    const own = columnsOf.get(id)!
    if (steps > maxSteps && [...own].some(({ groups }) => groups.length > 0)) {
      withheld.push({ id, because: 'many groups' })
      continue
    }
    const found: { readonly basis: Basis; readonly coefficients: number[]; readonly column: Column }[] = []
    let isNew = true
    for (const basis of bases) {
      const coefficients = coefficientsIn(basis, own)
      const candidates = coefficients.some((value) => value !== 0) ? columns : own
      const search = searchColumn(candidates, own, coefficients, basis.weight)
      steps += search.steps
      isNew = search.isNew
      if (search.column === null) break
      search.column.unused -= basis.weight
      found.push({ basis, coefficients, column: search.column })
    }
    if (found.length === bases.length) {
      for (const { basis, coefficients, column } of found) steps += extend(basis, own, coefficients, column)
      for (const column of own) column.groups.push(independent)
      independent++
    } else {
      for (const { basis, column } of found) column.unused += basis.weight
      if (isNew) withheld.push({ id, because: 'few devices' })
    }
    await setImmediate()
  }
  return withheld
}

/** The cells of these groups, largest first. */
const columnsFor = (cells: readonly Cell[], shown: readonly string[]) => {
  const sizes = new Map(shown.map((id) => [id, 0]))
  const merged = new Map<string, { readonly ids: readonly string[]; devices: number }>()
  for (const { groupIds, devices } of cells) {
    const ids = [...groupIds].filter((id) => sizes.has(id)).sort()
    const name = ids.join(' ')
    const cell = merged.get(name) ?? { ids, devices: 0 }
    cell.devices += devices
    merged.set(name, cell)
  }
  const columnsOf = new Map(shown.map((id) => [id, new Set<Column>()]))
  const sorted = [...merged.values()].sort((a, b) => b.devices - a.devices || a.ids.length - b.ids.length)
  const columns = sorted.map(({ ids, devices }): Column => {
    const column = { devices, unused: devices, groups: [] }
    for (const id of ids) {
      columnsOf.get(id)!.add(column)
      sizes.set(id, sizes.get(id)! + devices)
    }
    return column
  })
  return { columns, columnsOf, sizes }
}

/** Few bases whose weights add up to `minDevices`. */
const basesFor = (minDevices: number): readonly Basis[] => {
  const count = Math.min(minDevices, MAX_BASES)
  return Array.from({ length: count }, (_, n) => ({
    weight: Math.floor((minDevices + n) / count),
    columns: [],
    inverse: [],
  }))
}

/** The combination of the independent groups that equals the group on the columns of the basis. */
const coefficientsIn = ({ columns, inverse }: Basis, group: ReadonlySet<Column>): number[] => {
  const sum = columns.map(() => 0)
  for (const [at, column] of columns.entries()) {
    if (!group.has(column)) continue
    for (const [index, value] of inverse[at]!.entries()) sum[index] = modulo(sum[index]! + value)
  }
  return sum
}

/** What the group is on the column, minus the combination. */
const restOn = (column: Column, group: ReadonlySet<Column>, coefficients: readonly number[]): number => {
  let rest = group.has(column) ? 1 : 0
  for (const index of column.groups) rest -= coefficients[index]!
  return modulo(rest)
}

/** Finds the column with the most unused devices that extends the basis. `isNew` is false if the combination is the group. */
const searchColumn = (
  columns: Iterable<Column>,
  group: ReadonlySet<Column>,
  coefficients: readonly number[],
  weight: number,
): { readonly column: Column | null; readonly isNew: boolean; readonly steps: number } => {
  let best: Column | null = null
  let isNew = false
  let steps = 0
  for (const column of columns) {
    if (best !== null && column.devices <= best.unused) break
    steps++
    if (best !== null && column.unused <= best.unused) continue
    steps += column.groups.length
    if (restOn(column, group, coefficients) === 0) continue
    isNew = true
    if (column.unused >= weight) best = column
  }
  return { column: best, isNew, steps }
}

/** Adds a group and a column to the basis, by the formula for the inverse of a bordered matrix; returns the number of steps. */
const extend = (
  { columns, inverse }: Basis,
  group: ReadonlySet<Column>,
  coefficients: readonly number[],
  column: Column,
): number => {
  const reciprocal = reciprocalOf(restOn(column, group, coefficients))
  let steps = columns.length
  for (const row of inverse) {
    const product = column.groups.reduce((sum, index) => sum + row[index]!, 0)
    const factor = modulo(modulo(product) * reciprocal)
    if (factor !== 0) {
      steps += columns.length
      for (const [index, value] of coefficients.entries()) row[index] = modulo(row[index]! + factor * value)
    }
    row.push(modulo(-factor))
  }
  inverse.push([...coefficients.map((value) => modulo(-modulo(value * reciprocal))), reciprocal])
  columns.push(column)
  return steps
}

const modulo = (value: number): number => value - Math.floor(value / PRIME) * PRIME

/** By Fermat's little theorem. */
const reciprocalOf = (value: number): number => {
  let [power, square] = [1, value]
  for (let exponent = PRIME - 2; exponent > 0; exponent = Math.floor(exponent / 2)) {
    if (exponent % 2 === 1) power = modulo(power * square)
    square = modulo(square * square)
  }
  return power
}
