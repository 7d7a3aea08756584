import type { ServerResponse } from 'node:http'
import { badRequest } from '../../domain/errors.ts'

/** Aborts when the client has disconnected. The request's own 'close' event comes as soon as its body is read. */
export const abortOnDisconnect = (answer: ServerResponse): AbortSignal => {
  const gone = new AbortController()
  answer.once('close', () => {
    if (!answer.writableFinished) gone.abort(badRequest('The connection was closed before the response was ready.'))
  })
  return gone.signal
}
