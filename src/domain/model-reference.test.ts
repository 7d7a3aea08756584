import { expect, it } from 'vitest'
import { isAlias, requireAlias, splitReference, versionMeant } from './model-reference.ts'

it.each(['production', 'candidate', 'eu-west_2', 'A', 'velocity', 'version', 'x'.repeat(63)])(
  "'%s' may be an alias",
  (text) => expect(isAlias(text)).toBe(true),
)

it.each([
  'latest',
  'previous',
  '1',
  '1.2.0',
  'v1',
  'V2',
  'v1.4.0',
  '',
  '-a',
  'a.b',
  'a b',
  'a@b',
  'größe',
  'x'.repeat(64),
])("'%s' may not be an alias", (text) => {
  expect(isAlias(text)).toBe(false)
  expect(() => requireAlias(text)).toThrow(/^alias: /)
})

it('a reference is split at its last @ if a valid model name precedes it', () => {
  expect(splitReference('my-model@production')).toEqual({ name: 'my-model', version: 'production' })
  expect(splitReference('my-model@1.4.0-rc.1+linux')).toEqual({ name: 'my-model', version: '1.4.0-rc.1+linux' })
  expect(splitReference('0190c5a1-1d2c-4c4c-8c8c-111111111111@2')).toEqual({
    name: '0190c5a1-1d2c-4c4c-8c8c-111111111111',
    version: '2',
  })
  for (const text of ['my-model', '@production', 'my-model@', 'hf:org/model@main', 'a@b@c', '']) {
    expect(splitReference(text)).toBeNull()
  }
})

it('a version field may accompany a reference unless they name different versions', () => {
  expect(versionMeant('m', undefined, undefined)).toBe('latest')
  expect(versionMeant('m', undefined, '1.2.0')).toBe('1.2.0')
  expect(versionMeant('m@production', 'production', undefined)).toBe('production')
  expect(versionMeant('m@production', 'production', 'latest')).toBe('production')
  expect(versionMeant('m@production', 'production', 'production')).toBe('production')
  expect(() => versionMeant('m@production', 'production', '2')).toThrow(
    "'m@production' names version production, but the request names version 2. Send only one of them.",
  )
})
