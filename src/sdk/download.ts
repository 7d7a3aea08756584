import { ApiError } from '../client/client.ts'
import { resumeDownload, type Sink } from '../platform/transfer/resume-download.ts'
import { Interruption, TransferError } from '../platform/transfer/transfer-error.ts'
import { NetworkError } from './api-error.ts'

/** Collects a download; it outlives the connection, so an interrupted download can be resumed. */
export interface DownloadSink extends Sink {
  /** Hex digest of everything received. */
  sha256(): Promise<string>
}

export interface MemorySink extends DownloadSink {
  bytes(): Uint8Array<ArrayBuffer>
}

const hex = (digest: ArrayBuffer): string =>
  Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Collects a download in memory.
 * @throws Error in pages that are neither from https nor from localhost: browsers do not offer them WebCrypto
 */
export const memorySink = (): MemorySink => {
  if (!globalThis.crypto?.subtle)
    throw new Error('This page cannot check what it downloads: open it over https, or from localhost.')
  let parts: Uint8Array[] = []
  let size = 0
  let whole: Uint8Array<ArrayBuffer> | null = null
  const bytes = (): Uint8Array<ArrayBuffer> => {
    if (whole?.length === size) return whole
    whole = new Uint8Array(size)
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
      whole = null
    },
    sha256: async () => hex(await crypto.subtle.digest('SHA-256', bytes())),
    bytes,
  }
}

export interface Download {
  /** Sends the GET with these headers added; rejects with ApiError if refused, NetworkError if there is no response. */
  readonly send: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>
  readonly sink: DownloadSink
  readonly size: number
  /** 64 hex digits. The file's ETag is its SHA-256, so this also identifies what to resume. */
  readonly sha256: string
  /** A connection without data for this long is closed. */
  readonly stallMs: number
  readonly signal: AbortSignal | undefined
  /** Called whenever more bytes have arrived. */
  readonly progress: () => void
  /** Called when all bytes have arrived, before they are hashed. */
  readonly verifying?: (() => void) | undefined
}

/** All bytes arrived, but differ from the announced ones. */
export class WrongBytes extends NetworkError {}

const requireDigest = async ({ sink, sha256 }: Download): Promise<void> => {
  const digest = await sink.sha256()
  if (digest === sha256) return
  await sink.reset()
  throw new WrongBytes(`The file arrived with sha256 ${digest} instead of ${sha256}.`)
}

/**
 * Makes one attempt to complete the file in the sink. Resolves once size and SHA-256 are right. Throws NetworkError if the
 * connection broke (the sink keeps its bytes) or the bytes are wrong (the sink is emptied), ApiError if refused.
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
            // The partial file cannot be resumed: the next attempt requests the whole file.
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
