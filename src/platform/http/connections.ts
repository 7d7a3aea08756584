import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from './app.ts'

/** Above this share of the limit, connections end with their response. */
const BUSY = 0.8
const SWEEP_MS = 50

/**
 * Node silently drops connections beyond `most`. Before that happens, stops keeping connections alive between requests, so that
 * new clients get through.
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
 * `app.close()` refuses new connections, lets running requests finish, and cuts off those that exceed the deadline. Kept-alive
 * connections count as idle as soon as their last response is sent.
 */
export const closeGracefully = (app: App, deadlineMs: number): void => {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    const { server } = app
    // Browsers and probes open connections in advance; Node does not consider those idle until they have sent a byte.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    if (!server.listening) return
    // A connection that becomes idle only after close() has checked would otherwise stay open for its whole keep-alive time.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    const deadline = setTimeout(() => {
      app.log.warn(`requests were still running after ${deadlineMs} ms; closing their connections`)
      server.closeAllConnections()
    }, deadlineMs)
    server.once('close', () => {
      clearInterval(sweep)
      clearTimeout(deadline)
    })
  })
}
