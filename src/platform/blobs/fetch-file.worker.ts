import { createHash } from 'node:crypto'
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { follow } from '../transfer/follow.ts'
import { resumeDownload, type Sink } from '../transfer/resume-download.ts'
import { Interruption, reasonOf, TransferError } from '../transfer/transfer-error.ts'
import type { FetchedFile, FetchReply, FetchRequest } from './fetch-file.ts'

/** The timeout for a response to start, and between its bytes. */
const STALL_MS = 10_000
/** Consecutive tries without progress. */
const TRIES = 5
const FIRST_WAIT_MS = 200

class Missing extends Error {}

/** Hashes and writes each chunk at once, while it is in the CPU cache. */
const openHashingSink = (path: string) => {
  const fd = openSync(path, 'wx', 0o600)
  let hash = createHash('sha256')
  let size = 0
  const sink: Sink = {
    received: () => size,
    append: async (bytes) => {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, size + at)
      hash.update(bytes)
      size += bytes.length
    },
    reset: async () => {
      ftruncateSync(fd)
      hash = createHash('sha256')
      size = 0
    },
  }
  return { ...sink, result: (): FetchedFile => ({ sha256: hash.digest('hex'), size }), close: () => closeSync(fd) }
}

/** @throws Missing, Interruption, TransferError; errors of the disk */
const fetchInto = async (sink: Sink, url: URL): Promise<void> => {
  for (let failed = 0; ; ) {
    const before = sink.received()
    try {
      const send = async (headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> => {
        const { response } = await follow(url, { headers, signal })
        if (response.ok || response.status === 416) return response
        await response.body?.cancel()
        throw response.status === 404 ? new Missing() : new Interruption(`${url.host} returned ${response.status}`)
      }
      return await resumeDownload({ sink, send, size: null, stallMs: STALL_MS, signal: undefined })
    } catch (error) {
      if (!(error instanceof Interruption)) throw error
      failed = sink.received() > before ? 1 : failed + 1
      if (failed === TRIES) throw error
      await sleep(FIRST_WAIT_MS * 2 ** (failed - 1))
    }
  }
}

const replyTo = async ({ url, path }: FetchRequest): Promise<FetchReply> => {
  let sink: ReturnType<typeof openHashingSink> | undefined
  try {
    sink = openHashingSink(path)
    await fetchInto(sink, new URL(url))
    return { ok: true, ...sink.result() }
  } catch (error) {
    if (error instanceof Missing) return { ok: false, fault: 'missing' }
    const message = reasonOf(error)
    if (error instanceof Interruption || error instanceof TransferError) return { ok: false, fault: 'away', message }
    return { ok: false, fault: 'disk', message, code: (error as NodeJS.ErrnoException).code }
  } finally {
    sink?.close()
  }
}

parentPort?.on('message', (request: FetchRequest) => {
  void replyTo(request).then((reply) => {
    request.reply.postMessage(reply)
    request.reply.close()
  })
})
