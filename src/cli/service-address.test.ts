import { expect, it } from 'vitest'
import { parseJoinCode } from './agent/join-code.ts'
import { isSameService, parseApiBase } from './service-address.ts'

it.each([
  ['http://127.0.0.1:8000', 'http://127.0.0.1:8000'],
  ['http://127.0.0.1:8000/', 'http://127.0.0.1:8000'],
  ['https://example.org/tributary/', 'https://example.org/tributary'],
  ['https://example.org/api/v1/', 'https://example.org'],
])('reads %s as %s', (text, expected) => {
  expect(parseApiBase(text, '--api-base')).toBe(expected)
})

it.each(['127.0.0.1:8000', 'ftp://example.org', ''])('refuses %j', (text) => {
  expect(() => parseApiBase(text, 'SERVICE_API_BASE')).toThrow('SERVICE_API_BASE is not the address of a service')
})

it('hides the password of an address that it refuses', () => {
  for (const [text, message] of [
    ['https://user:secret@example.org', '--api-base contains a user name or password.'],
    ['ftp://user:secret@example.org', "--api-base is not the address of a service: 'ftp://example.org'."],
    ['user:secret@example.org:8000', "--api-base is not the address of a service: 'example.org:8000'."],
    ['http://user:se/cret@example.org', "--api-base is not the address of a service: 'http://example.org'."],
  ] as const)
    expect(() => parseApiBase(text, '--api-base')).toThrow(expect.objectContaining({ message }))
  expect(() => parseApiBase('http://user:sec@ret@example.org/base/', '--api-base')).toThrow(
    expect.objectContaining({
      advice: 'Leave it out: http://example.org/base. To sign in with a key, run: svc login --api-key',
    }),
  )
  for (const [text, shown] of [
    ['http://user:sec/ret@example.org', 'http://example.org'],
    ['ABCD-234@http://user:secret@example.org', 'ABCD-234@http://example.org'],
  ])
    expect(() => parseJoinCode(text!)).toThrow(`'${shown}' is not a join code.`)
})

it.each([
  ['https://a.example.org', 'https://a.example.org/sub', true],
  ['http://127.0.0.1:8000', 'http://localhost:8100', true],
  ['http://[::1]:8000', 'http://127.0.0.1:8000', true],
  ['https://a.example.org', 'http://a.example.org', false],
  ['https://a.example.org', 'https://b.example.org', false],
  ['http://127.0.0.1:8000', 'http://127.0.0.1.example.org:8000', false],
])('a key for %s may be sent to %s: %s', (one, other, expected) => {
  expect([isSameService(one, other), isSameService(other, one)]).toEqual([expected, expected])
})
