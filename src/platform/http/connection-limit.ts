import type { Server } from 'node:http'

/** From this share of the limit on, connections end with their answer. */
const BUSY = 0.8

/**
 * Node drops connections beyond `most` without a word. Before it comes to that, clients are no longer let keep theirs between two
 * requests, so that those without one get through.
 */
export const limitConnections = (server: Server, most: number): void => {
  let open = 0
  server.maxConnections = most
  server.on('connection', (socket) => {
    open++
    socket.once('close', () => open--)
  })
  server.prependListener('request', (_request, response) => {
    if (open > most * BUSY) response.shouldKeepAlive = false
  })
}
