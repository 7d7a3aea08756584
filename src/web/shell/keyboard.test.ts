import { expect, it } from 'vitest'
import { actionOf } from './keyboard.ts'

const press = (key: string, waiting = false, more = {}) =>
  actionOf({ key, modified: false, typing: false, ...more }, waiting)

it('keys search, list the keys, and after g go to a page', () => {
  expect([press('/'), press('?'), press('g'), press('d'), press('d', true)]).toEqual([
    { kind: 'search' },
    { kind: 'help' },
    { kind: 'wait' },
    null,
    { kind: 'go', key: 'd' },
  ])
})

it('keys are text in a field, and the browser’s own with a modifier', () => {
  expect([press('/', false, { typing: true }), press('g', false, { modified: true })]).toEqual([null, null])
})
