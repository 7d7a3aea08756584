import type { FastifyReply, FastifyRequest } from 'fastify'

/** Why the work for a request ended: nobody is left to answer. */
class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client has closed the connection.')
  }
}

/**
 * Runs `work` with a signal that is aborted when the client goes away. The socket is watched, not the answer: that of a
 * pipelined request is not told of a socket which it was never given.
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
