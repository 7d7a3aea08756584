import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app.ts'

export interface StallLimits {
  /** A request body must bring `minBytes` in each span of this length... */
  readonly bodyStallMs: number
  readonly minBytes: number
  /** ...and a client that is sent an answer must read something in each span of this length. */
  readonly readStallMs: number
  /** How long the rest of a body is read and discarded after the response, so that the client can receive it. */
  readonly lingerMs: number
}

export const STALL_LIMITS: StallLimits = { bodyStallMs: 30_000, minBytes: 1024, readStallMs: 300_000, lingerMs: 10_000 }

/** Requests whose responses are neither complete nor aborted. */
export type InFlight = ReadonlySet<FastifyReply>

interface Mark {
  time: number
  bytesRead: number
  readTime: number
  bytesWritten: number
}

/**
 * Node's requestTimeout limits a whole request and so would kill long uploads. This limits stalls instead: uploads and
 * downloads may take any time while they make progress. Time spent in our own handler does not count.
 */
export const dropSlowClients = (app: App, inFlight: InFlight, stallLimits: StallLimits = STALL_LIMITS): void => {
  const marks = new WeakMap<FastifyReply, Mark>()

  const isStalled = (reply: FastifyReply, now: number): boolean => {
    const { raw: request, socket } = reply.request
    const mark = marks.get(reply)
    if (mark === undefined) {
      marks.set(reply, { time: now, bytesRead: socket.bytesRead, readTime: now, bytesWritten: socket.bytesWritten })
      return false
    }
    if (now - mark.time >= stallLimits.bodyStallMs) {
      // Bytes that wait in our buffer mean that we are the slow side.
      const waiting = !request.complete && request.readableLength === 0
      if (waiting && socket.bytesRead - mark.bytesRead < stallLimits.minBytes) return true
      mark.time = now
      mark.bytesRead = socket.bytesRead
    }
    const unread = socket.writableLength > 0 || reply.raw.writableLength > 0
    if (!unread || socket.bytesWritten !== mark.bytesWritten) {
      mark.readTime = now
      mark.bytesWritten = socket.bytesWritten
    }
    return now - mark.readTime >= stallLimits.readStallMs
  }

  const interval = Math.min(stallLimits.bodyStallMs, stallLimits.readStallMs, 20_000) / 4
  const timer = setInterval(() => {
    const now = performance.now()
    for (const reply of inFlight) {
      if (!isStalled(reply, now)) continue
      reply.request.log.warn('the client stopped sending or reading; closing its connection')
      reply.request.socket.destroy()
    }
  }, interval)
  timer.unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

/** Reads on after an answer that came before the end of its request's body; to be called when the answer is over. */
export const linger = ({ raw, socket }: FastifyRequest, ms: number): void => {
  // A request that came without a connection (`inject`) has a socket that is none.
  if (raw.complete || socket.destroyed || !('destroy' in socket)) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => {
    if (!raw.complete) socket.destroy()
  }, ms)
  timer.unref()
}
