import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/random.ts'
import { withheldAgainstSubtraction } from './subtraction.ts'

interface NamedCell {
  readonly groupIds: ReadonlySet<string>
  readonly devices: number
}

const cell = (devices: number, ...groupIds: string[]): NamedCell => ({ groupIds: new Set(groupIds), devices })
const idsOf = (cells: readonly NamedCell[]) => [...new Set(cells.flatMap(({ groupIds }) => [...groupIds]))].sort()
const reasons = (cells: readonly NamedCell[], shown = idsOf(cells), minDevices = 5, maxSteps?: number) => {
  const ids = idsOf(cells)
  const numberOf = new Map(ids.map((id, number) => [id, number]))
  const numbered = cells.map(({ groupIds, devices }) => ({
    groups: Uint16Array.from(groupIds, (id) => numberOf.get(id)!).sort(),
    devices,
  }))
  return withheldAgainstSubtraction(numbered, ids, shown, minDevices, maxSteps)
}
const withheld = async (cells: readonly NamedCell[], minDevices = 5) =>
  (await reasons(cells, idsOf(cells), minDevices)).map(({ id }) => id)

describe('groups are withheld', () => {
  it('if the few other devices of a larger one could be computed', async () => {
    expect(await withheld([cell(8, 'all', 'most'), cell(3, 'all')])).toEqual(['most'])
  })

  it('the smallest first, if several together leave few devices', async () => {
    const cells = [cell(9, 'all', 'phones'), cell(6, 'all', 'tablets'), cell(2, 'all', 'clocks')]
    expect(await withheld(cells.slice(0, 2))).toEqual([])
    expect(await reasons(cells, ['all', 'phones', 'tablets'])).toEqual([{ id: 'tablets', because: 'few devices' }])
  })

  it('until no small rest is left, even if they are nested', async () => {
    const cells = [cell(6, 'all', 'half', 'core'), cell(4, 'all', 'half'), cell(7, 'all')]
    expect(await withheld(cells)).toEqual(['core'])
  })

  it('if two differ by few devices, even if neither contains the other', async () => {
    // The differences between sums of values, and of squares, give two equations about these few devices.
    expect(await withheld([cell(7, 'a', 'b'), cell(1, 'a'), cell(2, 'b')])).toEqual(['a'])
  })

  it('if several parts leave one device, also if another group contains it', async () => {
    const cells = [
      cell(2, 'whole', 'first', 'trial'),
      cell(3, 'whole', 'first'),
      cell(2, 'whole', 'second', 'trial'),
      cell(3, 'whole', 'second'),
      cell(1, 'whole', 'trial'),
    ]
    expect(await withheld(cells)).toEqual(['second', 'first'])
  })

  it('if two divisions of the devices differ by one device', async () => {
    const cells = [
      cell(9, 'east', 'old'),
      cell(9, 'east', 'new'),
      cell(9, 'west', 'old'),
      cell(9, 'west', 'new'),
      cell(1, 'new'),
    ]
    expect(await withheld(cells)).toEqual(['east'])
  })

  it('if their figures minus a combination of others are few devices, a prime number of times', async () => {
    expect(await withheld(groupsWithDeterminant(2 ** 26 - 5))).toHaveLength(1)
  })

  it('if they overlap with others, once the decision has taken too long', async () => {
    const cells = [cell(9, 'east', 'new'), cell(8, 'east', 'old'), cell(7, 'west', 'new'), cell(6, 'west', 'old')]
    expect(await reasons([...cells, cell(5, 'apart')], undefined, 5, 0)).toEqual([
      { id: 'new', because: 'many groups' },
      { id: 'old', because: 'many groups' },
    ])
  })
})

describe('nothing is withheld', () => {
  it('if groups share no device, are equal, or leave enough devices', async () => {
    expect(await withheld([cell(5, 'a'), cell(6, 'b')])).toEqual([])
    expect(await withheld([cell(7, 'a', 'b')])).toEqual([])
    expect(await withheld([cell(7, 'all', 'a'), cell(5, 'all')])).toEqual([])
    expect(await withheld([cell(7, 'a', 'b'), cell(2, 'a'), cell(3, 'b')])).toEqual([])
  })

  it('if groups are nested, and each level leaves enough devices', async () => {
    const sites = ['a', 'b', 'c', 'd'].map((site, n) => cell(5, 'all', n < 2 ? 'north' : 'south', site))
    expect(await withheld(sites)).toEqual([])
  })

  it('if a thousand groups are nested or disjoint, which takes few steps', async () => {
    const names = Array.from({ length: 1000 }, (_, n) => String(n))
    const nested = names.map((_, level) => cell(5, ...names.slice(level)))
    expect(await reasons(nested, undefined, 5, 0)).toEqual([])
    const disjoint = names.map((name) => cell(5, name))
    expect(await reasons(disjoint, undefined, 5, 0)).toEqual([])
  })

  it('if a hundred nested groups cross two other divisions', async () => {
    const names = Array.from({ length: 100 }, (_, n) => String(n))
    const cells = Array.from({ length: 5000 }, (_, n) =>
      cell(1, ...names.slice(n % 100), `region ${n % 7}`, `board ${n % 61}`),
    )
    expect(await withheld(cells)).toEqual([])
  })

  it('if groups are half the sum of others, and so add no independent one', async () => {
    expect(await withheld([cell(5, 'a', 'b', 'all'), cell(5, 'b', 'c', 'all'), cell(5, 'a', 'c', 'all')])).toEqual([])
  })

  it('if two complete divisions of the devices cross, even with few devices in each cell', async () => {
    const names = ['1', '2', '3', '4', '5']
    expect(await withheld(names.flatMap((r) => names.map((h) => cell(3, 'all', `region ${r}`, `board ${h}`))))).toEqual(
      [],
    )
  })

  it('if there are hundreds of groups that many divisions of the devices make', async () => {
    const cells = Array.from({ length: 4000 }, (_, n) =>
      cell(3, ...[60, 49, 37].map((size) => `${size}: ${(n * 7919) % size}`)),
    )
    expect(idsOf(cells)).toHaveLength(146)
    expect(await withheld(cells, 11)).toEqual([])
  })
})

/**
 * As many cells as groups, the last one of a single device, whose matrix has this determinant: a Hessenberg matrix, of which
 * the leading minors are Fibonacci numbers, and the determinant is a sum of them with alternating signs.
 */
const groupsWithDeterminant = (determinant: number): NamedCell[] => {
  const minors = [1, 1, 1]
  while (minors.at(-1)! < 2 * determinant) minors.push(minors.at(-1)! + minors.at(-2)!)
  const size = minors.length
  const signed = minors.map((minor, n) => ((size - 1 - n) % 2 === 0 ? minor : -minor))
  const choose = (rest: number, n: number): number[] | null => {
    if (n < 0) return rest === 0 ? [] : null
    const below = signed.slice(0, n + 1)
    const [least, most] = [below.filter((one) => one < 0), below.filter((one) => one > 0)].map((some) =>
      some.reduce((sum, one) => sum + one, 0),
    )
    if (rest < least! || rest > most!) return null
    const without = choose(rest, n - 1)
    if (without !== null) return without
    const others = choose(rest - signed[n]!, n - 1)
    return others === null ? null : [n, ...others]
  }
  const last = new Set(choose(determinant, size - 1))
  return minors.map((_, column) => {
    const contains = (row: number) => {
      if (row === size - 1) return last.has(column)
      return column === row + 1 || (column <= row && (row - column) % 2 === 0)
    }
    const groups = minors.flatMap((_, row) => (contains(row) ? [`group ${row}`] : []))
    return cell(column === size - 1 ? 1 : 1000, ...groups)
  })
}

/** The rank of the matrix of groups and cells. */
const rankOf = (cells: readonly NamedCell[], groups: readonly string[]): number => {
  const rows = groups.map((id) => cells.map(({ groupIds }): number => (groupIds.has(id) ? 1 : 0)))
  let rank = 0
  for (const at of cells.keys()) {
    const pivot = rows.findIndex((row, n) => n >= rank && Math.abs(row[at]!) > 1e-9)
    if (pivot < 0) continue
    ;[rows[rank], rows[pivot]] = [rows[pivot]!, rows[rank]!]
    for (const row of rows.slice(rank + 1)) {
      const factor = row[at]! / rows[rank]![at]!
      for (const [n, value] of rows[rank]!.entries()) row[n] = row[n]! - factor * value
    }
    rank++
  }
  return rank
}

it('every n independent combinations of the groups that are left depend on n times the minimum of devices', async () => {
  const random = randomFrom(1)
  let kept = 0
  for (let n = 0; n < 300; n++) {
    const groups = ['a', 'b', 'c', 'd', 'e'].slice(0, 2 + random(4))
    const cells = Array.from({ length: 3 + random(5) }, () =>
      cell(1 + random(12), ...groups.filter(() => random(2) === 0)),
    )
    const minDevices = 5 + random(12)
    const left = new Set(await withheld(cells, minDevices))
    const shown = groups.filter((id) => !left.has(id))
    kept += shown.length
    const rank = rankOf(cells, shown)
    for (let subset = 1; subset < 2 ** cells.length; subset++) {
      const inside = cells.filter((_, at) => (subset >> at) % 2 === 1)
      const outside = cells.filter((_, at) => (subset >> at) % 2 === 0)
      const devices = inside.reduce((sum, one) => sum + one.devices, 0)
      expect(devices).toBeGreaterThanOrEqual(minDevices * (rank - rankOf(outside, shown)))
    }
  }
  expect(kept).toBeGreaterThan(400)
})
