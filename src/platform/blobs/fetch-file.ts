import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { startThread } from '../threads/start-thread.ts'

export interface FetchRequest {
  readonly url: string
  /** The file must not exist yet. */
  readonly path: string
  readonly reply: MessagePort
}

export interface FetchedFile {
  /** SHA-256 of the received bytes, 64 hex digits. */
  readonly sha256: string
  readonly size: number
}

export type FetchReply =
  | ({ readonly ok: true } & FetchedFile)
  | { readonly ok: false; readonly fault: 'missing' }
  | { readonly ok: false; readonly fault: 'away'; readonly message: string }
  | { readonly ok: false; readonly fault: 'disk'; readonly message: string; readonly code: string | undefined }

/**
 * Downloads files to the local disk and hashes them on the fly, in a thread started by the first download. Each chunk is hashed
 * and written while it is still in the CPU cache: half the CPU time of streams, and none of it on the event loop.
 */
export const createFileFetcher = (): ((url: string, path: string) => Promise<FetchReply>) => {
  let thread: Worker | null = null
  const opened = (): Worker => {
    const worker = startThread(import.meta.url, 'fetch-file.worker')
    const lost = (): void => {
      if (thread === worker) thread = null
    }
    // Pending requests detect the loss by their port, which closes.
    worker.on('error', lost).on('exit', lost).unref()
    return worker
  }
  return (url, path) =>
    new Promise((resolve, reject) => {
      const { port1, port2 } = new MessageChannel()
      port1.once('message', resolve)
      port1.once('close', () => reject(new Error('The thread that fetches files has ended.')))
      thread ??= opened()
      const request: FetchRequest = { url, path, reply: port2 }
      thread.postMessage(request, [port2])
    })
}
