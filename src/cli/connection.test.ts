import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from './connection.ts'

const startServer = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a request over the rate limit is sent again, with its body, when the service says; but not after a minute', async () => {
  const seen: string[] = []
  const waits: number[] = []
  const retryAfter = ['1', '0', '40', '30']
  const baseUrl = await startServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    seen.push(body)
    const after = seen.length === 3 ? undefined : retryAfter.shift()
    if (after === undefined) response.writeHead(201, { 'content-type': 'application/json' }).end('{"name":"g"}')
    else
      response
        .writeHead(429, { 'content-type': 'application/json', 'retry-after': after })
        .end('{"error":"rate_limited","message":"Too many requests.","details":null}')
  })
  const stop = new AbortController()
  const onWait = (seconds: number): void => {
    waits.push(seconds)
    if (seconds === 40) stop.abort(new Error('Interrupted.'))
  }
  const connection = connect({ baseUrl, onWait, signal: stop.signal })
  const create = ({ request } = connection) =>
    request((client) => client.POST('/api/v1/device-groups', { body: { org_id: 'o', name: 'g' } }))
  expect(await create()).toEqual({ name: 'g' })
  expect([new Set(seen), seen.length, waits]).toEqual([new Set(['{"org_id":"o","name":"g"}']), 3, [1, 1]])
  await expect(create()).rejects.toThrow('Interrupted.')
  retryAfter.unshift('61')
  await expect(create(connect({ baseUrl, onWait }))).rejects.toThrow('Too many requests.')
  await expect(create(connect({ baseUrl }))).rejects.toThrow('Too many requests.')
  expect(waits).toEqual([1, 1, 40])
})

test('a certificate that is refused is the reason, not that the service does not run', async () => {
  const read = (name: string) => readFile(new URL(`../../test/fixtures/tls/${name}`, import.meta.url))
  const server = createHttpsServer({ cert: await read('first.pem'), key: await read('first.key') })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}`
  const connection = connect({ baseUrl })
  await expect(connection.request((client) => client.GET('/api/v1/health'))).rejects.toMatchObject({
    message: `Cannot reach ${baseUrl} (DEPTH_ZERO_SELF_SIGNED_CERT).`,
    advice: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  })
})

test('a stalled response can still be interrupted after a garbage collection', async () => {
  let isAsked = (): void => undefined
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const baseUrl = await startServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{')
    isAsked()
  })
  const stop = new AbortController()
  const { request } = connect({ baseUrl, signal: stop.signal })
  const outcome = request((client) => client.GET('/api/v1/health')).catch((error: Error) => error.message)
  await asked
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let times = 0; times < 5; times++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
  stop.abort(new Error('Interrupted.'))
  expect(await outcome).toBe('Interrupted.')
})
