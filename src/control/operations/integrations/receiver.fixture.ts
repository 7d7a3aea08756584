import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** A receiver on this machine, closed when the test ends. `respond` handles each request. `down` closes its port until `up`. */
export const startReceiver = async () => {
  const received: Received[] = []
  const receiver = {
    url: '',
    received,
    respond: (_request: Received, respond: ServerResponse): void => void respond.writeHead(204).end(),
    texts: () => received.map(({ body }) => body.toString('utf8')),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) }
    received.push(one)
    receiver.respond(one, response)
  })
  const up = (port = 0) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const down = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await up()
  const { port } = server.address() as AddressInfo
  onTestFinished(down)
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}`, up: () => up(port), down })
}
