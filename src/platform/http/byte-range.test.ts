import { expect, test } from 'vitest'
import { parseRange } from './byte-range.ts'

test.each([
  ['bytes=0-', { start: 0, end: 99 }],
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=10-19', { start: 10, end: 19 }],
  ['bytes=90-1000', { start: 90, end: 99 }],
  ['bytes=99-', { start: 99, end: 99 }],
  ['bytes=-1', { start: 99, end: 99 }],
  ['bytes=-1000', { start: 0, end: 99 }],
  ['Bytes= 5-6 ', { start: 5, end: 6 }],
  [`bytes=0-${'9'.repeat(400)}`, { start: 0, end: 99 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=20-10', 'whole'],
  ['bytes=0-1,5-6', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=a-b', 'whole'],
  ['items=0-1', 'whole'],
  ['', 'whole'],
])('for 100 bytes, %j requests %j', (header, expected) => {
  expect(parseRange(header, 100)).toEqual(expected)
})

test('an empty file satisfies no range', () => {
  expect(['bytes=0-', 'bytes=-5', 'bytes=0-0'].map((header) => parseRange(header, 0))).toEqual([
    'unsatisfiable',
    'unsatisfiable',
    'unsatisfiable',
  ])
})
