import { expect, it } from 'vitest'
import { actionOf } from './keyboard.ts'

const press = (key: string, waiting = false, more = {}) =>
  actionOf({ key, modified: false, typing: false, ...more }, waiting)

it('/ searches, ? lists the keys, and g followed by a key opens a page', () => {
  expect([press('/'), press('?'), press('g'), press('d'), press('d', true)]).toEqual([
    { kind: 'search' },
    { kind: 'help' },
    { kind: 'wait' },
    null,
    { kind: 'go', key: 'd' },
  ])
})

it('ignores keys typed in a field or with a modifier', () => {
  expect([press('/', false, { typing: true }), press('g', false, { modified: true })]).toEqual([null, null])
})
