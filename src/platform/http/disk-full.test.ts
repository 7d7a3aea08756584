import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { asDiskFull, asUnwritable } from '../../domain/outages.ts'
import { buildTestServer, openRaw } from './test-server.fixture.ts'

const FULL = {
  error: 'insufficient_storage',
  message: 'The disk of the service is full: nothing was stored. Try again once its operator has freed space.',
  status_code: 507,
}

it.skipIf(process.platform !== 'linux')(
  'a write that fails because the disk is full is answered with 507',
  async () => {
    const { app } = await buildTestServer((server) => {
      server.put('/thing', { config: { access: 'public' } }, async () => {
        await writeFile('/dev/full', 'x')
        return {}
      })
    })
    const response = await app.inject({ method: 'PUT', url: '/thing' })
    expect([response.statusCode, response.json()]).toEqual([507, FULL])
    await app.close()
  },
)

it.each([
  Object.assign(new Error('EDQUOT: disk quota exceeded, write'), { code: 'EDQUOT' }),
  Object.assign(new Error('could not extend file "base/5/16384": No space left on device'), { code: '53100' }),
  new Error('could not write to file "pg_wal/xlogtemp.7": No space left on device'),
  new Error('staging failed', { cause: Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }) }),
])('the error %s means that the disk is full', (error) => {
  expect(asDiskFull(error)?.toJSON()).toEqual(FULL)
})

it('other errors do not mean that the disk is full', () => {
  expect([asDiskFull(new Error('EACCES')), asDiskFull('ENOSPC'), asDiskFull(null)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

it.each([
  ['EACCES', 'open'],
  ['EACCES', 'access'],
  ['EACCES', 'lstat'],
  ['EROFS', 'mkdtemp'],
])('a file that may not be used (%s, %s) makes the service unavailable', (code, syscall) => {
  const error = Object.assign(new Error(`${code}: ${syscall} '/data/blobs/x'`), { code, syscall })
  expect(asUnwritable(new Error('staging failed', { cause: error }))?.toJSON()).toEqual({
    error: 'unavailable',
    message:
      "The service has no permission to read or write its files. Its operator must make the service's user their owner, and the disk writable.",
    status_code: 503,
  })
  const connecting = Object.assign(new Error('connect EACCES'), { code: 'EACCES', syscall: 'connect' })
  expect(asUnwritable(connecting)).toBeUndefined()
})

it('an expectation other than 100-continue is answered with 417 and the error body', async () => {
  const { app } = await buildTestServer((server) => {
    server.get('/thing', { config: { access: 'public' } }, async () => ({}))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = await openRaw((app.server.address() as { port: number }).port)
  client.socket.write('GET /thing HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n')
  const text = await client.until('}')
  expect(text).toMatch(/^HTTP\/1\.1 417 /)
  expect(JSON.parse(text.slice(text.indexOf('{')))).toEqual({
    error: 'expectation_failed',
    message: "The expectation 'x' is not supported. Remove the Expect header.",
    status_code: 417,
  })
  client.socket.destroy()
  await app.close()
})
