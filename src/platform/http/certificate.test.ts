import { copyFile, mkdtemp, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { CertificateError, readCertificate } from './certificate.ts'
import { buildTestServer } from './test-server.fixture.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url))

const folderWith = async (name: string) => {
  const folder = await mkdtemp(join(inject('folders'), 'tls-'))
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const put = async (pair: string) => {
    await copyFile(fixture(`${pair}.pem`), files.cert)
    await copyFile(fixture(`${pair}.key`), files.key)
  }
  await put(name)
  return { files, put }
}

/** Sends a request; returns the name in the server's certificate, and the response. */
const ask = (port: number) =>
  new Promise<{ name: string; body: string; protocol: string }>((resolve, reject) => {
    const asked = request(
      { port, host: '127.0.0.1', path: '/protocol', rejectUnauthorized: false, agent: false },
      (response) => {
        const name = String((response.socket as TLSSocket).getPeerCertificate().subject.CN)
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ name, body, protocol: JSON.parse(body).protocol }))
      },
    )
    asked.on('error', reject)
    asked.end()
  })

test('a service with a certificate uses https, reloads a renewed one, and keeps it if the next one is unusable', async () => {
  const { files, put } = await folderWith('first')
  const { app, lines } = await buildTestServer(
    (routes) => {
      routes.get('/protocol', { config: { access: 'public' } }, async (asked) => ({ protocol: asked.protocol }))
    },
    { certificate: files },
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  expect(await ask(port)).toMatchObject({ name: 'first', protocol: 'https' })
  await expect(fetch(`http://127.0.0.1:${port}/protocol`)).rejects.toThrow()

  await put('second')
  process.emit('SIGHUP')
  await expect.poll(async () => (await ask(port)).name).toBe('second')
  expect(lines().filter((line) => JSON.parse(line).level === 'warn')).toEqual([])

  await writeFile(files.key, 'not a key')
  process.emit('SIGHUP')
  await expect.poll(() => lines().some((line) => line.includes('The previous certificate stays in use'))).toBe(true)
  expect((await ask(port)).name).toBe('second')
  await app.close()
  expect(process.listenerCount('SIGHUP')).toBe(0)
})

test('warns at the start of a certificate that clients refuse because of its dates, and when it is reloaded', async () => {
  const { files } = await folderWith('first')
  await copyFile(fixture('future.pem'), files.cert)
  const { app, lines } = await buildTestServer(() => undefined, { certificate: files })
  expect(lines().map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'warn',
      valid_from: '2120-01-01T00:00:00.000Z',
      msg: 'The certificate is not valid yet: clients refuse it. Check the clock of this machine.',
    },
  ])
  await copyFile(fixture('expired.pem'), files.cert)
  process.emit('SIGHUP')
  const expired = 'The certificate has expired: clients refuse it. Renew it.'
  await expect.poll(() => lines().some((line) => JSON.parse(line).msg === expired)).toBe(true)
  await app.close()
})

test.each([
  ['first.pem', 'second.key', 'the key does not belong to the certificate'],
  ['first.key', 'first.key', 'PEM files'],
  ['first.pem', 'missing.key', 'SERVICE_TLS_KEY cannot be read'],
])('%s with %s prevents the start', async (cert, key, reason) => {
  const found = await readCertificate({ cert: fixture(cert), key: fixture(key) }).catch((error) => error)
  expect(found).toBeInstanceOf(CertificateError)
  expect(found.message).toContain(reason)
})
