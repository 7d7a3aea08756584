import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { World } from '../../test/world.ts'

/** Passes the response of the service on; replaced to cut or change it. */
type Deliver = (response: IncomingMessage, outgoing: ServerResponse) => void

const whole: Deliver = (response, outgoing) => {
  outgoing.writeHead(response.statusCode!, response.headers)
  response.pipe(outgoing)
}

/**
 * Starts a proxy before the service until the test ends, and returns its address. `handle` responds to a request, or calls
 * `forward`.
 */
export const startFaultyProxy = async (
  world: Pick<World, 'baseUrl'>,
  handle: (incoming: IncomingMessage, outgoing: ServerResponse, forward: (deliver?: Deliver) => void) => void,
): Promise<string> => {
  const server = createServer((incoming, outgoing) =>
    handle(incoming, outgoing, (deliver = whole) => {
      const { method, headers, url } = incoming
      incoming.pipe(
        httpRequest(`${world.baseUrl}${url}`, { method, headers }, (response) => deliver(response, outgoing)),
      )
    }),
  ).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
