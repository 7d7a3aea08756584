import { expect, it } from 'vitest'
import { isOwnHost, isOwnOrigin, parseOrigins, parsePublicUrl } from './own-hosts.ts'

const own = { names: new Set(['box.example.net', 'fleet.example.org']), origins: ['https://app.example.org'] }

it.each([
  '127.0.0.1:8000',
  '10.0.0.7',
  '[::1]:80',
  '[fe80::1]',
  'localhost',
  'LOCALHOST:8080',
  'app.localhost',
  'Printer.local.',
  'host.docker.internal:1',
  'tributary',
  'tributary:8000',
  'box.example.net',
  'Fleet.Example.org:443',
])('the host %s is ours', (host) => {
  expect(isOwnHost(host, own)).toBe(true)
})

it.each([
  'evil.example',
  'evil.example:8000',
  'localhost.example',
  '127.0.0.1.example',
  '127.1',
  '256.0.0.1',
  'notlocal.evil',
  'x.box.example.net',
  'a b',
  'a@b',
  '[evil.example]',
  '::1',
])('the host %s is not ours', (host) => {
  expect(isOwnHost(host, own)).toBe(false)
})

it.each([
  'http://localhost:3000',
  'http://192.168.1.7',
  'https://fleet.example.org',
  'https://app.example.org',
  'vscode-webview://1234',
  'chrome-extension://abcd',
])('pages of %s may call', (origin) => {
  expect(isOwnOrigin(origin, own)).toBe(true)
})

it.each(['https://evil.example', 'http://evil.example:8000', 'null', '', 'http://app.example.org'])(
  'pages of %j may not call',
  (origin) => {
    expect(isOwnOrigin(origin, own)).toBe(false)
  },
)

it('pages from anywhere may call if all origins are allowed', () => {
  expect(isOwnOrigin('https://evil.example', { names: new Set(), origins: ['*'] })).toBe(true)
})

it.each([
  ['https://fleet.example.org/', 'https://fleet.example.org'],
  ['http://a.example:8000/tributary/', 'http://a.example:8000/tributary'],
  ['fleet.example.org', null],
  ['ftp://a.example', null],
  ['https://user:secret@a.example', null],
  ['https://a.example/?x=1', null],
])('the public address %s is read as %s', (text, expected) => {
  expect(parsePublicUrl(text)).toBe(expected)
})

it('the first invalid entry in a list of origins is reported', () => {
  expect(parseOrigins('https://a.example, http://b:1')).toEqual({
    origins: ['https://a.example', 'http://b:1'],
    wrong: null,
  })
  expect(parseOrigins('https://a.example,b.example').wrong).toBe('b.example')
  expect(parseOrigins('chrome-extension://abcdef,moz-extension://0a-1b').wrong).toBeNull()
  expect(parseOrigins('capacitor://localhost,tauri://localhost,app://-').wrong).toBeNull()
  for (const wrong of ['capacitor://localhost/page', 'other://localhost']) expect(parseOrigins(wrong).wrong).toBe(wrong)
  for (const wrong of ['chrome-extension://abc/page', 'file://abc', 'extension://abc'])
    expect(parseOrigins(wrong).wrong).toBe(wrong)
})
