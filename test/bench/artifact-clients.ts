// The process behind artifact-download.ts: many connections that read a file into one reused buffer, so that reading uses as
// little as possible of the two cores.
import { connect } from 'node:net'

export interface Pull {
  readonly port: number
  readonly path: string
  readonly key: string
  readonly connections: number
  readonly bytes: number
}

export interface Pulled {
  readonly seconds: number
  /** When each connection had received everything. */
  readonly each: readonly number[]
}

const BUFFER = 512 * 1024

const pullOnce = ({ port, path, key, bytes }: Pull): Promise<void> =>
  new Promise((resolve, reject) => {
    let head = ''
    let body = -1
    const onChunk = (length: number, buffer: Uint8Array): boolean => {
      if (body >= 0) body += length
      else {
        head += Buffer.from(buffer.subarray(0, length)).toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end === -1) return true
        body = head.length - end - 4
        head = head.slice(0, end)
        const announced = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
        if (!head.startsWith('HTTP/1.1 200') || announced !== bytes) socket.destroy(new Error(`answered:\n${head}`))
      }
      if (body >= bytes) socket.destroy()
      return true
    }
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: { buffer: Buffer.allocUnsafe(BUFFER), callback: onChunk },
    })
    socket.once('error', reject)
    socket.once('close', () =>
      body === bytes ? resolve() : reject(new Error(`closed after ${body} of ${bytes} bytes`)),
    )
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  })

const run = async (pull: Pull): Promise<Pulled> => {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const each = await Promise.all(
    Array.from({ length: pull.connections }, async () => {
      await pullOnce(pull)
      return seconds()
    }),
  )
  return { seconds: seconds(), each }
}

process.on('message', (pull: Pull) => {
  run(pull).then(
    (pulled) => process.send?.(pulled),
    (error: Error) => process.send?.({ failure: error.message }),
  )
})
