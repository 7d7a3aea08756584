import { ApiError } from '../client/client.ts'
import { resumeDownload, type Sink } from '../platform/transfer/resume-download.ts'
import { Interruption, TransferError } from '../platform/transfer/transfer-error.ts'
import { NetworkError } from './api-error.ts'

/** Where a download is collected; it outlives the connection, so an interrupted download goes on where it stopped. */
export interface DownloadSink extends Sink {
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

const requireDigest = async ({ sink, sha256 }: Download): Promise<void> => {
  const digest = await sink.sha256()
  if (digest === sha256) return
  await sink.reset()
  throw new WrongBytes(`The file arrived with sha256 ${digest} instead of ${sha256}.`)
}

/**
 * One try at bringing the sink up to the whole file. Resolves once size and sha256 are right. Throws NetworkError when the
 * connection broke (the sink keeps what came) or the bytes are wrong (the sink is emptied), ApiError when refused.
 */
export const downloadOnce = async (download: Download): Promise<void> => {
  const { sink, sha256 } = download
  try {
    await resumeDownload({
      ...download,
      send: (headers, signal) =>
        download
          .send(headers.range === undefined ? {} : { ...headers, 'if-range': `"${sha256}"` }, signal)
          .catch(async (error: unknown) => {
            if (!(error instanceof ApiError) || error.status !== 416) throw error
            // What is there cannot be continued: the next try asks for the whole.
            await sink.reset()
            throw new NetworkError(error.message, error)
          }),
    })
  } catch (error) {
    if (!(error instanceof Interruption) && !(error instanceof TransferError)) throw error
    throw new NetworkError(`The download was interrupted: ${error.message.replace(/\.$/, '')}.`, error)
  }
  download.verifying?.()
  await requireDigest(download)
}
