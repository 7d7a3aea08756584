import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from './app.ts'

/** From this share of the limit on, connections end with their answer. */
const BUSY = 0.8
const SWEEP_MS = 50

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

/**
 * `app.close()` refuses new connections, lets what is in flight finish, and cuts off what has not finished after the
 * deadline. Kept-alive connections count as idle the moment their last answer is out.
 */
export const closeGracefully = (app: App, deadlineMs: number): void => {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    const { server } = app
    // Browsers and probes open connections ahead of need; those that never sent a byte are not idle to Node.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // A connection that falls idle only after close() has looked would otherwise be kept for its whole keep-alive time.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    const deadline = setTimeout(() => {
      app.log.warn(`requests were still running after ${deadlineMs} ms; closing their connections`)
      server.closeAllConnections()
    }, deadlineMs)
    server.once('close', () => {
      clearInterval(sweep)
      clearTimeout(deadline)
    })
    if (!server.listening) {
      clearInterval(sweep)
      clearTimeout(deadline)
    }
  })
}
