// The process behind load.ts. Uses raw sockets and prepared requests: an HTTP client would need more CPU than the service.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call, Load, LoadResult } from './load.ts'

const bytesOf = ({ method, path, key, body }: Call): Buffer => {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: keep-alive']
  if (key !== undefined) head.push(`Authorization: Bearer ${key}`)
  if (body !== undefined) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`)
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}

const lengthOf = (head: string): number => Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)

/** Sends one request and resolves with the response's body; one at a time per socket. */
const exchange = (socket: Socket, request: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    let received = ''
    const onData = (chunk: Buffer): void => {
      received += chunk.toString('latin1')
      const end = received.indexOf('\r\n\r\n')
      if (end === -1 || received.length < end + 4 + lengthOf(received.slice(0, end))) return
      socket.off('data', onData)
      socket.off('close', onClose)
      if (received.startsWith('HTTP/1.1 2')) resolve(received.slice(end + 4))
      else reject(new Error(`${request.toString().split('\r\n')[0]} was answered:\n${received}`))
    }
    const onClose = (): void => reject(new Error('The service closed the connection.'))
    socket.on('data', onData)
    socket.once('close', onClose)
    socket.write(request)
  })

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })

const run = async ({ port, connections, calls, seconds, perSecond, keepBodies }: Load): Promise<LoadResult> => {
  const requests = calls.map(bytesOf)
  const bodies: string[] = []
  const latenciesMs: number[] = []
  const count = Math.min(connections, calls.length)
  const sockets = await Promise.all(Array.from({ length: count }, () => open(port)))
  // A server accepts one connection per turn of its event loop, so the last of many comes late. The clock starts when all have
  // been served once.
  if (seconds !== undefined) await Promise.all(sockets.map((socket, n) => exchange(socket, requests[n]!)))
  const started = performance.now()
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : started + seconds * 1000

  let turns = 0
  const turn = async (): Promise<void> => {
    const wait = started + (1000 * turns++) / perSecond! - performance.now()
    if (wait > 0) await sleep(wait)
  }

  const keepSending = async (socket: Socket, first: number): Promise<void> => {
    for (let at = first; performance.now() < until; at += count) {
      if (at >= requests.length) {
        if (seconds === undefined) return
        at = first
      }
      if (perSecond !== undefined) await turn()
      const sent = performance.now()
      const body = await exchange(socket, requests[at]!)
      latenciesMs.push(performance.now() - sent)
      if (keepBodies) bodies[at] = body
    }
  }

  try {
    await Promise.all(sockets.map(keepSending))
    return { seconds: (performance.now() - started) / 1000, latenciesMs, bodies }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
