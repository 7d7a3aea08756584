import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from './app.ts'

const FAULTS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The request line and headers are larger than 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
  HPE_INVALID_TRANSFER_ENCODING: 'The Transfer-Encoding is not valid.',
}

interface Connection {
  /** Whether a response to an earlier request is being written to this socket; if so, nothing else may be written. */
  readonly isAnswering: boolean
  /** The response body, in this server's error format. */
  readonly bodyOf: (message: string) => object
}

/**
 * Closes a connection on which nothing was sent, such as a browser's spare one, without a response. Its first request may
 * have arrived while this process was busy: that is read first, and then it stays open.
 */
const closeUnused = (socket: Socket): void => {
  setImmediate(() => setImmediate(() => socket.bytesRead === 0 && socket.destroy()))
}

/** Invalid HTTP requests have no route and no reply object, so the response is written to the socket. */
export const respondToMalformed = (
  error: NodeJS.ErrnoException,
  socket: Socket,
  { isAnswering, bodyOf }: Connection,
): void => {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
    socket.destroy()
    return
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
    closeUnused(socket)
    return
  }
  const body = JSON.stringify(bodyOf(FAULTS[error.code ?? ''] ?? 'The request is not valid HTTP/1.1.'))
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}

/** `Expect: 100-continue` is the only expectation defined (RFC 9110, section 10.1.1); others get 417. */
export const refuseExpectations = (server: Server, bodyOf: (message: string) => object): void => {
  server.on('checkExpectation', (request, reply) => {
    const expected = `${request.headers.expect}`.slice(0, 100)
    const body = JSON.stringify(bodyOf(`The expectation '${expected}' is not supported. Remove the Expect header.`))
    reply.writeHead(417, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      // The body is not read.
      connection: 'close',
    })
    reply.end(body)
  })
}

/** Bodies are never decompressed; those with a `Content-Encoding` are rejected. */
export const refuseEncodedBodies = (app: App, refusal: (message: string) => Error): void => {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    const message = `Content-Encoding ${encoding} is not supported: send the body uncompressed, without that header.`
    done(encoding === 'identity' ? null : refusal(message))
  })
}
