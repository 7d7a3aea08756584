import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from './connection.ts'

test('a stalled response can still be interrupted after a garbage collection', async () => {
  let isAsked = (): void => undefined
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{')
    isAsked()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const stop = new AbortController()
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
