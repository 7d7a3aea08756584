import { expect, it } from 'vitest'
import { type Cell, withheldAgainstSubtraction } from './subtraction.ts'

const cell = (devices: number, ...groupIds: string[]): Cell => ({ groupIds: new Set(groupIds), devices })
const withheld = (cells: readonly Cell[], shown: readonly string[]) => withheldAgainstSubtraction(cells, shown, 5)

it('withholds a group if the few other devices of a larger one could be computed', () => {
  const cells = [cell(8, 'all', 'most'), cell(3, 'all')]
  expect(withheld(cells, ['all', 'most'])).toEqual([{ id: 'most', of: 'all' }])
})

it('withholds the smallest of several groups that together leave few devices', () => {
  const cells = [cell(9, 'all', 'phones'), cell(6, 'all', 'tablets'), cell(2, 'all', 'clocks')]
  expect(withheld(cells, ['all', 'phones', 'tablets'])).toEqual([{ id: 'tablets', of: 'all' }])
})

it('stops when no small rest is left, even with nested groups', () => {
  const cells = [cell(6, 'all', 'half', 'core'), cell(4, 'all', 'half'), cell(7, 'all')]
  expect(withheld(cells, ['all', 'half', 'core'])).toEqual([{ id: 'core', of: 'half' }])
})

it('withholds nothing if groups share no device, are equal, or leave enough devices', () => {
  expect(withheld([cell(5, 'a'), cell(6, 'b')], ['a', 'b'])).toEqual([])
  expect(withheld([cell(7, 'a', 'b')], ['a', 'b'])).toEqual([])
  expect(withheld([cell(7, 'all', 'a'), cell(5, 'all')], ['all', 'a'])).toEqual([])
  expect(withheld([cell(7, 'a', 'b'), cell(2, 'a'), cell(3, 'b')], ['a', 'b'])).toEqual([])
})

it('withholds the smaller of two groups that differ by few devices, even if neither contains the other', () => {
  // The differences between sums of values, and of squares, give two equations about these few devices.
  expect(withheld([cell(7, 'a', 'b'), cell(1, 'a'), cell(2, 'b')], ['a', 'b'])).toEqual([{ id: 'a', of: 'b' }])
})
