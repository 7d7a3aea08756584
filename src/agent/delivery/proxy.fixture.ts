import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Passing {
  readonly method: string
  readonly path: string
  /** The first byte requested by a Range header; 0 without one. */
  readonly from: number
}

export interface Proxy {
  readonly baseUrl: string
  /** All requests that passed through it. */
  readonly seen: Passing[]
  readonly downloads: () => Passing[]
  /** Where requests are forwarded to. */
  target: string
  /** Changes a chunk of a download; null cuts the connection. `at` is the offset in the file. */
  onBody: ((chunk: Buffer, at: number, path: string) => Buffer | null | Promise<Buffer | null>) | null
  /** While true, connections fail. */
  isAway: boolean
  /** Returns the status and body to answer with, like a hotspot with its own login page; null to forward the request. */
  intercept: (path: string) => readonly [number, string] | null
}

const isDownload = (path: string): boolean => path.endsWith('/download')

/** A machine between device and service that can cut, corrupt, and delay traffic. It is closed when the test ends. */
export const startProxy = async (target: string): Promise<Proxy> => {
  const seen: Passing[] = []
  const proxy: Proxy = {
    baseUrl: '',
    seen,
    downloads: () => seen.filter(({ path }) => isDownload(path)),
    target,
    onBody: null,
    isAway: false,
    intercept: () => null,
  }
  const server: Server = createServer((incoming, outgoing) => {
    if (proxy.isAway) {
      incoming.socket.destroy()
      return
    }
    const path = incoming.url ?? ''
    const from = Number(/^bytes=(\d+)-/.exec(incoming.headers.range ?? '')?.[1] ?? 0)
    seen.push({ method: incoming.method ?? '', path, from })
    const own = proxy.intercept(path)
    if (own !== null) {
      incoming.resume().once('end', () => outgoing.writeHead(own[0]).end(own[1]))
      return
    }
    const { hostname, port } = new URL(proxy.target)
    const passOn = async (response: IncomingMessage): Promise<void> => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      outgoing.flushHeaders()
      let at = from
      for await (const chunk of response as AsyncIterable<Buffer>) {
        const changed = proxy.onBody !== null && isDownload(path) ? await proxy.onBody(chunk, at, path) : chunk
        at += chunk.length
        if (changed === null) {
          // Delayed so that earlier data still arrives, which an immediate cut would discard.
          setTimeout(() => outgoing.destroy(), 20)
          response.destroy()
          return
        }
        if (!outgoing.write(changed)) await new Promise((resolve) => outgoing.once('drain', resolve))
      }
      outgoing.end()
    }
    const { method, headers } = incoming
    const sent = request({ hostname, port, method: method ?? 'GET', path, headers, agent: false }, (response) => {
      passOn(response).catch(() => outgoing.destroy())
    })
    sent.on('error', () => outgoing.destroy())
    outgoing.on('close', () => sent.destroy())
    incoming.pipe(sent)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(proxy, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
