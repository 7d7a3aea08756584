import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest } from '../../domain/errors.ts'

/** Aborts when the client disconnects. The request's own 'close' event fires as soon as its body is read. */
export const abortOnDisconnect = (response: ServerResponse): AbortSignal => {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(badRequest('The connection was closed before the response was ready.'))
  })
  return gone.signal
}

/** The abort reason: the client has disconnected. */
class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client has closed the connection.')
  }
}

/**
 * Runs `work` with a signal that aborts when the client disconnects. Watches the socket, not the response: that of a pipelined
 * request is not notified, since it was never given the socket.
 */
export const whilePresent = async (
  request: FastifyRequest,
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<FastifyReply>,
): Promise<FastifyReply> => {
  const { socket } = request
  const presence = new AbortController()
  const leave = (): void => presence.abort(new ClientGone())
  socket.once('close', leave)
  if (socket.destroyed) leave()
  try {
    return await work(presence.signal)
  } catch (error) {
    if (!presence.signal.aborted) throw error
    return reply.hijack()
  } finally {
    socket.removeListener('close', leave)
  }
}
