import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { startWorld } from '../../../../test/world.ts'
import { guardedLookup, RefusedAddress, requireAllowedHost } from './guarded-address.ts'
import { startReceiver } from './receiver.fixture.ts'
import { send } from './send.ts'

const NOBODY = new AbortController().signal
const to = (url: string, allowPrivate: boolean, headers = {}) =>
  send({ url, headers, body: Buffer.from('x') }, allowPrivate, NOBODY)

it.each([
  'http://169.254.169.254/latest/meta-data',
  'http://2852039166/',
  'http://0251.0376.0251.0376/',
  'http://0xa9fea9fe/',
  'http://169.254.43518/',
  'http://169.254.169.254./',
  'http://user@169.254.169.254/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[::169.254.169.254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://192.0.0.192/opc/v1/instance/',
  'http://168.63.129.16/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://0/',
  'http://[::]/',
  'tcp://169.254.169.254:514',
  'tcp://2852039166:514',
  'tcp://0xa9fea9fe:514',
  'tcp://[::ffff:a9fe:a9fe]:514',
  'udp://0251.0376.0251.0376:514',
  'udp://[fe80::1]:514',
])('nothing is sent to %s, whether private addresses are allowed or not', async (url) => {
  for (const allowPrivate of [true, false]) {
    expect(await to(url, allowPrivate)).toMatchObject({
      ok: false,
      response: expect.stringContaining('to which nothing is sent'),
    })
  }
})

it.each([
  'http://10.1.2.3/',
  'http://167838211/',
  'http://127.1/',
  'http://[::1]/',
  'http://[::ffff:192.168.0.1]/',
  'http://[fd12::1]/',
  'http://[fec0::1]/',
  'http://198.18.0.1/',
  'http://localhost:9/',
  'tcp://localhost:9',
  'udp://localhost:9',
])('%s is private, whether named or written as a number', async (url) => {
  expect(await to(url, false)).toMatchObject({
    ok: false,
    response: expect.stringContaining(
      'is a private address or one of this machine. SERVICE_INTEGRATIONS_PRIVATE=allow',
    ),
  })
})

it('every address of this machine is refused where private ones are', () => {
  const own = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  for (const { address } of own.filter(({ scopeid = 0 }) => scopeid === 0)) {
    expect(() => requireAllowedHost(address, false)).toThrow(`${address} is a private address or one of this machine`)
    expect(() => requireAllowedHost(address, true)).not.toThrow()
  }
})

it('public addresses are allowed', () => {
  for (const host of ['8.8.8.8', '[2606:4700::1111]', 'receiver.example', '100.63.0.1', '172.32.0.1']) {
    expect(() => requireAllowedHost(host, false)).not.toThrow()
  }
})

it('a name is looked up once for each connection, which then uses the address that was checked', async () => {
  const found = await new Promise((resolve, reject) => {
    guardedLookup(true)('localhost', { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
  expect(found).toEqual(
    expect.arrayContaining([expect.objectContaining({ address: expect.stringMatching(/^(127\.|::1)/) })]),
  )
  const refused = await new Promise((resolve) => guardedLookup(false)('localhost', {}, (error) => resolve(error)))
  expect(refused).toBeInstanceOf(RefusedAddress)
})

it('a receiver whose certificate is from an unknown authority is told apart from one that does not respond', async () => {
  const read = (name: string) => readFile(new URL(`../../../../test/fixtures/tls/${name}`, import.meta.url))
  const receiver = createServer({ cert: await read('first.pem'), key: await read('first.key') }).listen(0, '127.0.0.1')
  onTestFinished(() => void receiver.close())
  await once(receiver, 'listening')
  const outcome = await to(`https://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, true)
  expect(outcome).toMatchObject({ ok: false, status: null, isFinal: false })
  expect(outcome.response).toMatch(/authority .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*NODE_EXTRA_CA_CERTS/)
})

it('a redirect to a metadata service is not followed, and secrets that a receiver repeats are hidden', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const receiver = await startReceiver()
  const password = 'correct horse battery'
  const body = {
    type: 'webhook',
    endpoint: receiver.url,
    config: { username: 'u', password, bearer_token: 'tok-12345678' },
  }
  const made = (await world.request('POST', '/api/v1/integrations', { key, body })).body as {
    id: string
    secret: string
  }
  const at = `/api/v1/integrations/${made.id}`
  receiver.respond = (_request, response) =>
    void response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end()
  const redirected = await world.request('POST', `${at}/test`, { key })
  expect(redirected.body).toMatchObject({ ok: false, status: 307, response: expect.stringContaining('not followed') })
  receiver.respond = ({ headers }, response) => void response.writeHead(500).end(JSON.stringify(headers))
  const echoed = await world.request('POST', `${at}/test`, { key })
  expect(echoed.body).toMatchObject({ response: expect.stringContaining('"authorization":"(secret)') })
  await world.request('POST', '/api/v1/device-groups', { key, body: { org_id: 'o', name: 'g' } })
  await world.advance(60)
  const seen = [echoed, await world.request('GET', at, { key }), await world.request('GET', '/api/v1/audit', { key })]
  const text = JSON.stringify(seen.map((response) => response.body))
  for (const secret of [password, 'tok-12345678', made.secret, made.secret.slice(6)]) expect(text).not.toContain(secret)
})
