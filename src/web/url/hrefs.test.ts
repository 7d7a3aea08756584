import { expect, it } from 'vitest'
import { deviceHref, modelHref } from './hrefs.ts'

it('a name is one segment of an address, regardless of its characters', () => {
  expect([deviceHref('a/b%'), deviceHref('a', 'o&p'), modelHref('id', '50% off'), modelHref('id')]).toEqual([
    '/devices/a%2Fb%25',
    '/devices/a?org=o%26p',
    '/models/50%25%20off',
    '/models/id',
  ])
})

it('replaces names that browsers would treat as path steps', () => {
  expect([deviceHref('..'), deviceHref('.', 'acme'), modelHref('id', '..')]).toEqual([
    '/devices?q=..',
    '/devices?q=.',
    '/models/id',
  ])
})
