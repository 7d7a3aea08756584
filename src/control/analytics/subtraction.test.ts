import { expect, it } from 'vitest'
import { type Cell, withheldAgainstSubtraction } from './subtraction.ts'

const cell = (devices: number, ...groupIds: string[]): Cell => ({ groupIds: new Set(groupIds), devices })
const withheld = (cells: readonly Cell[], shown: readonly string[]) => withheldAgainstSubtraction(cells, shown, 5)

it('a group whose rest within a larger one is small is withheld', () => {
  const cells = [cell(8, 'all', 'most'), cell(3, 'all')]
  expect(withheld(cells, ['all', 'most'])).toEqual([{ id: 'most', of: 'all' }])
})

it('of several groups that leave a small rest together, the smallest is withheld', () => {
  const cells = [cell(9, 'all', 'phones'), cell(6, 'all', 'tablets'), cell(2, 'all', 'clocks')]
  expect(withheld(cells, ['all', 'phones', 'tablets'])).toEqual([{ id: 'tablets', of: 'all' }])
})

it('ends when no rest is small, also in groups within groups', () => {
  const cells = [cell(6, 'all', 'half', 'core'), cell(4, 'all', 'half'), cell(7, 'all')]
  expect(withheld(cells, ['all', 'half', 'core'])).toEqual([{ id: 'core', of: 'half' }])
})

it('nothing is withheld where groups share no device, are equal, or leave enough devices', () => {
  expect(withheld([cell(5, 'a'), cell(6, 'b')], ['a', 'b'])).toEqual([])
  expect(withheld([cell(7, 'a', 'b')], ['a', 'b'])).toEqual([])
  expect(withheld([cell(7, 'all', 'a'), cell(5, 'all')], ['all', 'a'])).toEqual([])
  expect(withheld([cell(7, 'a', 'b'), cell(2, 'a'), cell(3, 'b')], ['a', 'b'])).toEqual([])
})

it('of two groups that differ by few devices the smaller is withheld, though neither holds the other', () => {
  // Sums of values and of squares give two equations: enough for the device that each has alone.
  expect(withheld([cell(7, 'a', 'b'), cell(1, 'a'), cell(2, 'b')], ['a', 'b'])).toEqual([{ id: 'a', of: 'b' }])
})
