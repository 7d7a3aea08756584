import { expect, it } from 'vitest'
import { meanRows, quartileRows, resultOf, sortWarnings } from './analytics-results.ts'
import type { Query } from './federation-records.ts'

const nameOf = (id: string): string => id.toUpperCase()

it('warnings contain group names instead of ids, and those about withheld groups are separate', () => {
  const warnings = ["Group 'g1' is withheld: fewer than 5 devices report 'loss'.", 'No test was made.']
  expect(sortWarnings(warnings, new Map([['g1', 'phones']]))).toEqual({
    withheld: ["Group 'phones' is withheld: fewer than 5 devices report 'loss'."],
    others: ['No test was made.'],
  })
})

it('a result includes its variable, which labels the axes', () => {
  const query = { query_type: 'descriptive', variable: 'battery', result: { groups: [], warnings: [] } }
  expect(resultOf(query as unknown as Query)).toEqual({
    kind: 'descriptive',
    variable: 'battery',
    groups: [],
    warnings: [],
  })
  expect(resultOf({ ...query, result: null } as unknown as Query)).toBeNull()
})

const described = { count: 8, mean: 1, std_dev: 1, median: 2 }

it('a histogram of quartiles has four bars of equal area, even if values are equal', () => {
  const [row] = quartileRows(
    [{ ...described, group_id: 'a', min: 0, max: 8, percentiles: { p25: 1, p50: 2, p75: 4 } }],
    nameOf,
  )
  expect(row!.bars).toEqual([
    { from: 0, to: 1, height: 1 },
    { from: 1, to: 2, height: 1 },
    { from: 2, to: 4, height: 0.5 },
    { from: 4, to: 8, height: 0.25 },
  ])
  expect(row!.text).toBe('A: quarters of the devices, bounded by 0.0000, 1.0000, 2.0000, 4.0000, 8.0000')
  const [equal] = quartileRows(
    [{ ...described, group_id: 'b', min: 3, max: 3, percentiles: { p25: 3, p50: 3, p75: 3 } }],
    nameOf,
  )
  expect(equal!.bars).toEqual(Array(4).fill({ from: 3, to: 3.005, height: 1 }))
  expect(quartileRows([{ ...described, group_id: 'c', min: 3, max: 3, percentiles: null }], nameOf)).toEqual([])
})

it('means have intervals if there are enough devices', () => {
  const rows = meanRows(
    [
      { group_id: 'a', count: 3, mean: 2, std_dev: 1 },
      { group_id: 'b', count: 1, mean: 2, std_dev: null },
    ],
    0.95,
    nameOf,
  )
  expect(rows.map(({ dot, whiskers }) => ({ dot, whiskers }))).toEqual([
    { dot: 2, whiskers: [expect.closeTo(-0.484138, 6), expect.closeTo(4.484138, 6)] },
    { dot: 2, whiskers: undefined },
  ])
})
