import { createServer as createHttpServer, request as httpRequest, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '../../src/sdk/trainers/random.ts'

const listening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

export interface ResettingProxy {
  readonly port: number
  /** Resets every connection through it, regardless of what it carries. */
  reset(): void
  close(): void
}

/** Forwards connections to a port on this machine. */
export const startTcpProxy = async (target: number): Promise<ResettingProxy> => {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far).pipe(near)
  })
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: await listening(server),
    reset,
    close: () => {
      reset()
      server.close()
    },
  }
}

export type StoreFault = 'none' | 'away' | 'slow' | 'errors' | 'torn'

/** A proxy in front of an object store: forwards requests, or causes the faults in `trouble`. */
export const startStoreProxy = async (target: number, random: Random) => {
  const proxy = { port: 0, fault: 'none' as StoreFault, close: (): void => undefined }
  const waiting = new Set<NodeJS.Timeout>()

  /** Sends half of the response, then closes the connection. */
  const tear = (response: ServerResponse, bytes: Buffer): void => {
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
  }

  const server = createHttpServer((request, response) => {
    const { method, headers, url } = request
    const { fault } = proxy
    const isHit = random.uniform() < 0.5
    if (fault === 'away') return request.socket.destroy()
    if (fault === 'errors' && isHit) return void response.writeHead(500).end()
    const pass = (): void => {
      const forwarded = httpRequest({ port: target, host: '127.0.0.1', method, headers, path: url }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        if (method === 'HEAD') return void response.end()
        if (fault === 'torn' && isHit) return void answer.once('data', (bytes) => tear(response, bytes))
        answer.on('error', () => response.destroy())
        answer.pipe(response)
      })
      forwarded.on('error', () => response.destroy())
      // The store gets part of a torn request.
      if (fault === 'torn' && isHit && method === 'PUT') {
        request.once('data', (bytes: Buffer) => {
          forwarded.write(bytes.subarray(0, bytes.length >> 1), () => forwarded.destroy())
          request.socket.destroy()
        })
      } else request.pipe(forwarded)
    }
    if (fault !== 'slow') return pass()
    const timer = setTimeout(pass, 200 + 2000 * random.uniform())
    waiting.add(timer)
    timer.unref()
    response.on('close', () => waiting.delete(timer))
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  proxy.port = await listening(server)
  proxy.close = () => {
    for (const timer of waiting) clearTimeout(timer)
    server.closeAllConnections()
    server.close()
  }
  return proxy
}

export type StoreProxy = Awaited<ReturnType<typeof startStoreProxy>>
