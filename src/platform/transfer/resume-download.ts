import { anySignal } from '../../domain/any-signal.ts'
import { Interruption, reasonOf, TransferError } from './transfer-error.ts'

/** Collects a download; it outlives the connection, so an interrupted download can be resumed. */
export interface Sink {
  /** Bytes received so far. */
  received(): number
  append(bytes: Uint8Array): Promise<void>
  /** Discards everything received. */
  reset(): Promise<void>
}

export interface ResumableDownload {
  /** Sends the GET with these headers added. Returns 2xx or 416; throws for other responses, or if there is none. */
  readonly send: (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>
  readonly sink: Sink
  /** Size of the whole file; null if unknown. */
  readonly size: number | null
  /** The maximum number of bytes if the size is unknown. */
  readonly maxBytes?: number
  /** A connection without data for this long is closed. */
  readonly stallMs: number
  readonly signal: AbortSignal | undefined
  /** Called whenever more bytes have arrived. */
  readonly progress?: () => void
}

/** Returns a signal that aborts if `alive` is not called for this long. */
export const watchStall = (stallMs: number, signal?: AbortSignal) => {
  const stop = new AbortController()
  const stalled = (): void => stop.abort(new Error(`nothing arrived for ${stallMs / 1000} s`))
  let timer = setTimeout(stalled, stallMs)
  return {
    signal: anySignal(signal, stop.signal),
    alive: (): void => {
      clearTimeout(timer)
      timer = setTimeout(stalled, stallMs)
    },
    end: (): void => clearTimeout(timer),
  }
}

/**
 * Returns the first byte of the response to a request for `bytes=<requested>-`; NaN if it is not stated. A page from another
 * origin may not see Content-Range; a part is then assumed to be the requested one, and the digest would reveal an error.
 */
const startOf = (response: Response, requested: number): number => {
  if (response.status !== 206) return 0
  const header = response.headers.get('content-range')
  if (header === null) return requested
  const start = /^bytes (\d+)-/.exec(header)?.[1]
  return start === undefined ? Number.NaN : Number(start)
}

/**
 * Makes one attempt to complete the download: requests the missing range if the sink already has bytes, and starts over if
 * the response is the whole file anyway.
 * @throws Interruption if the connection breaks, TransferError if too many bytes arrive; errors of `send` and the sink
 */
export const resumeDownload = async (download: ResumableDownload): Promise<void> => {
  const { send, sink, size, signal } = download
  const limit = size ?? download.maxBytes ?? Number.POSITIVE_INFINITY
  if (sink.received() > limit) await sink.reset()
  if (sink.received() === size) return
  const had = sink.received()
  const watch = watchStall(download.stallMs, signal)
  let body: { cancel(): Promise<void> } | null | undefined
  try {
    const response = await send(had > 0 ? { range: `bytes=${had}-` } : {}, watch.signal).catch((error: unknown) => {
      if (error !== watch.signal.reason || signal?.aborted) throw error
      throw new Interruption(reasonOf(error), { cause: error })
    })
    body = response.body
    if (response.status === 416) {
      await sink.reset()
      throw new Interruption('the partial download could not be resumed')
    }
    const start = startOf(response, had)
    if (start === 0 && had > 0) await sink.reset()
    else if (start !== had) throw new Interruption('the server sent a different range than requested')
    const reader = response.body?.getReader()
    body = reader
    const next = async (): Promise<Uint8Array | undefined> => {
      try {
        return (await reader?.read())?.value
      } catch (error) {
        signal?.throwIfAborted()
        const reason = reasonOf(watch.signal.aborted ? watch.signal.reason : error)
        throw new Interruption(`the connection broke (${reason})`, { cause: error })
      }
    }
    for (let bytes = await next(); bytes !== undefined; bytes = await next()) {
      watch.alive()
      if (sink.received() + bytes.length > limit) {
        await sink.reset()
        throw new TransferError(`More bytes arrived than the expected ${limit}.`)
      }
      await sink.append(bytes)
      download.progress?.()
    }
  } finally {
    watch.end()
    await body?.cancel().catch(() => undefined)
  }
  if (size !== null && sink.received() < size) {
    throw new Interruption(`only ${sink.received()} of ${size} bytes arrived`)
  }
}
