import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { limitConnections } from './connections.ts'

test('connections above the threshold end with their responses, and a limited number stays open', async () => {
  const server = createServer((_request, response) => response.end('ok'))
  limitConnections(server, 10)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const agents = Array.from({ length: 30 }, () => new Agent({ keepAlive: true }))
  onTestFinished(async () => {
    for (const agent of agents) agent.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const connections: (string | undefined)[] = []
  for (const agent of agents) {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get({ port, host: '127.0.0.1', agent }, resolve).once('error', reject),
    )
    response.resume()
    await new Promise((resolve) => response.once('end', resolve))
    connections.push(response.headers.connection)
  }
  expect(connections.slice(0, 8)).toEqual(Array(8).fill('keep-alive'))
  expect(connections.slice(8)).toEqual(Array(22).fill('close'))
})
