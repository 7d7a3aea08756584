import type { FastifyRequest } from 'fastify'
import { InferenceError } from '../errors.ts'

export interface FormDeadline {
  /** Time that every form gets... */
  readonly graceMs: number
  /** ...plus one second for each time this many bytes arrive. */
  readonly bytesPerSecond: number
}

export const FORM_DEADLINE: FormDeadline = { graceMs: 30_000, bytesPerSecond: 64 * 1024 }

const tooSlow = (bytes: number, ms: number, { bytesPerSecond }: FormDeadline): InferenceError =>
  new InferenceError(
    'request_timeout',
    `The form arrived too slowly: ${bytes} bytes in ${Math.round(ms / 1000)} seconds. At least ${bytesPerSecond / 1024} KiB per ` +
      'second must arrive. Try again over a faster connection, or send a smaller file.',
  )

/**
 * Reads a form under a deadline, because it takes memory while it is read. With only the server's stall limit, a client that
 * sends a few bytes per second could hold that memory for hours.
 * @throws InferenceError request_timeout, and what `read` throws
 */
export const withinDeadline = async <T>(
  { socket }: Pick<FastifyRequest, 'socket'>,
  deadline: FormDeadline,
  read: () => Promise<T>,
): Promise<T> => {
  const started = performance.now()
  const before = socket.bytesRead
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_resolve, reject) => {
    const check = (): void => {
      const bytes = socket.bytesRead - before
      const ms = performance.now() - started
      const left = deadline.graceMs + (bytes / deadline.bytesPerSecond) * 1000 - ms
      if (left <= 0) reject(tooSlow(bytes, ms, deadline))
      else timer = setTimeout(check, Math.ceil(left))
    }
    check()
  })
  try {
    return await Promise.race([read(), expired])
  } finally {
    clearTimeout(timer)
  }
}
