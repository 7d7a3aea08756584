import { expect, it } from 'vitest'
import { deviceHref } from './hrefs.ts'

it('a name is one segment of an address, regardless of its characters', () => {
  expect([deviceHref('a/b%'), deviceHref('a', 'o&p')]).toEqual(['/devices/a%2Fb%25', '/devices/a?org=o%26p'])
})

it('replaces names that browsers would treat as path steps', () => {
  expect([deviceHref('..'), deviceHref('.', 'acme')]).toEqual(['/devices?q=..', '/devices?q=.'])
})
