import { ApiError } from '../client/client.ts'
import { NetworkError } from './api-error.ts'

/** Where a download is collected; it outlives the connection, so an interrupted download goes on where it stopped. */
export interface DownloadSink {
  received(): number
  append(bytes: Uint8Array): Promise<void>
  /** Drops everything received. */
  reset(): Promise<void>
  /** Hex digest of everything received. */
  sha256(): Promise<string>
}

export interface MemorySink extends DownloadSink {
  bytes(): Uint8Array<ArrayBuffer>
}

const hex = (digest: ArrayBuffer): string =>
  Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Collects in memory. Digests with WebCrypto, which browsers offer only to pages from https or localhost. */
export const memorySink = (): MemorySink => {
  let parts: Uint8Array[] = []
  let size = 0
  const bytes = (): Uint8Array<ArrayBuffer> => {
    const whole = new Uint8Array(size)
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    parts = [whole]
    return whole
  }
  return {
    received: () => size,
    append: async (part) => {
      parts.push(part)
      size += part.length
    },
    reset: async () => {
      parts = []
      size = 0
    },
    sha256: async () => {
      if (!globalThis.crypto?.subtle) {
        throw new Error('This page cannot check what it downloads: open it over https, or from localhost.')
      }
      return hex(await globalThis.crypto.subtle.digest('SHA-256', bytes()))
    },
    bytes,
  }
}

export interface Download {
  /** Sends the GET with these headers added; rejects with ApiError when refused, NetworkError when no answer comes. */
  readonly send: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>
  readonly sink: DownloadSink
  readonly size: number
  /** 64 hex digits. The file's ETag is its sha256, so this also says what to go on with. */
  readonly sha256: string
  /** A connection that brings nothing for so long is given up. */
  readonly stallMs: number
  readonly signal: AbortSignal | undefined
  /** Called whenever more has arrived. */
  readonly progress: () => void
  /** Called when all bytes are there and are about to be hashed. */
  readonly verifying?: (() => void) | undefined
}

/** All bytes arrived, and they are not the announced ones. */
export class WrongBytes extends NetworkError {}

/**
 * First byte of an answer to a request for `bytes=<asked>-`. A page from another origin may not see Content-Range; a part is
 * then taken for the one asked for, and the sha256 tells if it was not.
 */
const startOf = (response: Response, asked: number): number => {
  if (response.status !== 206) return 0
  const header = response.headers.get('content-range')
  if (header === null) return asked
  const start = /^bytes (\d+)-/.exec(header)?.[1]
  return start === undefined ? Number.NaN : Number(start)
}

const requireDigest = async ({ sink, sha256 }: Download): Promise<void> => {
  const digest = await sink.sha256()
  if (digest === sha256) return
  await sink.reset()
  throw new WrongBytes(`The file arrived with sha256 ${digest} instead of ${sha256}.`)
}

/** The next piece of a body, or null at its end. */
const nextChunk = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> => {
  try {
    const { done, value } = await reader.read()
    return done ? null : value
  } catch (error) {
    throw new NetworkError('The connection broke during the download.', error)
  }
}

const receive = async (response: Response, download: Download, alive: () => void): Promise<void> => {
  const { sink, size } = download
  const reader = response.body?.getReader()
  if (!reader) return
  try {
    for (let chunk = await nextChunk(reader); chunk !== null; chunk = await nextChunk(reader)) {
      alive()
      if (sink.received() + chunk.length > size) {
        await sink.reset()
        throw new NetworkError(`More than the announced ${size} bytes arrived.`)
      }
      await sink.append(chunk)
      download.progress()
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/**
 * One try at bringing the sink up to the whole file: asks for the rest when something is there already, and starts over
 * when the service answers with the whole. Resolves once size and sha256 are right. Throws NetworkError when the
 * connection broke (the sink keeps what came) or the bytes are wrong (the sink is emptied), ApiError when refused.
 */
export const downloadOnce = async (download: Download): Promise<void> => {
  const { sink, size, sha256, signal, stallMs } = download
  if (sink.received() > size) await sink.reset()
  if (sink.received() < size) {
    const stop = new AbortController()
    const stalled = (): void => stop.abort(new Error(`nothing arrived for ${stallMs / 1000} s`))
    let timer = setTimeout(stalled, stallMs)
    try {
      const had = sink.received()
      const headers: Record<string, string> = had > 0 ? { range: `bytes=${had}-`, 'if-range': `"${sha256}"` } : {}
      const response = await download
        .send(headers, signal ? AbortSignal.any([signal, stop.signal]) : stop.signal)
        .catch(async (error: unknown) => {
          if (!(error instanceof ApiError) || error.status !== 416) throw error
          // What is there cannot be continued: the next try asks for the whole.
          await sink.reset()
          throw new NetworkError(error.message, error)
        })
      const start = startOf(response, had)
      if (start === 0 && had > 0) await sink.reset()
      else if (start !== had) throw new NetworkError('The service sent another part of the file than was asked for.')
      await receive(response, download, () => {
        clearTimeout(timer)
        timer = setTimeout(stalled, stallMs)
      })
    } finally {
      clearTimeout(timer)
    }
    if (sink.received() < size) throw new NetworkError(`Only ${sink.received()} of ${size} bytes arrived.`)
  }
  download.verifying?.()
  await requireDigest(download)
}
