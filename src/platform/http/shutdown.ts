import type { Socket } from 'node:net'
import type { App } from './app.ts'

const SWEEP_MS = 50

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
