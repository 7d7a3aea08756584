import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { respondToMalformed } from './malformed-request.ts'

/** With limits of milliseconds; the services' own are 20 s. */
const listening = async (): Promise<number> => {
  const limits = { headersTimeout: 300, connectionsCheckingInterval: 50, requestTimeout: 0 }
  const server = createServer(limits, (_request, response) => response.setHeader('connection', 'close').end('hello'))
  server.on('clientError', (error, socket) =>
    respondToMalformed(error, socket as never, { isAnswering: false, bodyOf: (message) => ({ message }) }),
  )
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const keepBusy = (ms: number): void => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

it('a request on a connection that was opened long before is read, even if the process was busy meanwhile', async () => {
  const socket = connect(await listening(), '127.0.0.1')
  await once(socket, 'connect')
  await sleep(200)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  // When it ends, the check of all connections is due before the request is read.
  keepBusy(300)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*hello$/s)
})

it('a connection on which nothing is sent is closed without a response', async () => {
  const socket = connect(await listening(), '127.0.0.1')
  expect(await text(socket)).toBe('')
})

it('a request that does not arrive in time is answered with the reason', async () => {
  const socket = connect(await listening(), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost:')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*"The request did not arrive in time\."/s)
})
