import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { renameWithRetries } from '../files/durable-file.ts'
import { lockFile } from '../files/file-lock.ts'
import { makeFolder } from '../files/make-folder.ts'
import { digestOf, type FileSink, openFileSink } from './file-sink.ts'
import { follow, plainEtag } from './follow.ts'
import type { RemoteFile } from './remote-file.ts'
import { resumeDownload } from './resume-download.ts'
import { Interruption, TransferError } from './transfer-error.ts'

export interface DownloadOptions {
  readonly signal: AbortSignal
  /** Called as bytes arrive; the total is null if unknown. */
  readonly progress?: (received: number, total: number | null) => void
  /** Consecutive attempts without progress. */
  readonly tries?: number
  /** A connection without data for this long is closed. */
  readonly stallMs?: number
  readonly maxBytes?: number
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const TRIES = 5
const STALL_MS = 60_000
const MAX_BYTES = 1024 ** 4
const FIRST_WAIT_MS = 500

/** Named after the digest of the complete file, so that a part of another file is never resumed. */
const partPath = (target: string, { digest }: RemoteFile): string => {
  const mark = createHash('sha256').update(`${digest.algorithm} ${digest.hex}`).digest('hex').slice(0, 16)
  return join(dirname(target), `.${basename(target).slice(0, 100)}.${mark}.part`)
}

/** Makes one attempt to complete the file. */
const tryOnce = async (remote: RemoteFile, sink: FileSink, options: DownloadOptions): Promise<void> => {
  const { signal, progress, stallMs = STALL_MS, maxBytes = MAX_BYTES } = options
  const { etag, size } = remote
  await resumeDownload({
    sink,
    size,
    maxBytes,
    stallMs,
    signal,
    progress: () => progress?.(sink.received(), size),
    send: async (headers, stop) => {
      const own = await remote.ownHeaders()
      // The host that serves the file may use another ETag.
      const ifRange = headers.range !== undefined && etag !== null ? { 'if-range': `"${etag}"` } : {}
      const ownHeaders = { ...own, ...ifRange }
      const { response, about } = await follow(remote.url, { headers, ownHeaders, signal: stop })
      if (response.status === 416) return response
      if (!response.ok) throw await remote.refusal(response)
      const reported = plainEtag(about.get('x-linked-etag') ?? about.get('etag'))
      if (etag === null || reported === null || reported === etag) return response
      await response.body?.cancel()
      await sink.reset()
      throw new TransferError(`${remote.label} has changed while it was being downloaded.`, { advice: 'Start again.' })
    },
  })
}

/** Requires the lock: nothing else may write to the part, which becomes the target. */
const download = async (
  remote: RemoteFile,
  part: string,
  target: string,
  options: DownloadOptions,
): Promise<{ readonly bytes: number }> => {
  const { signal, tries = TRIES, wait = (ms) => sleep(ms, undefined, { signal }) } = options
  const sink = await openFileSink(part)
  try {
    for (let failed = 0, mismatches = 0; ; ) {
      const before = sink.received()
      try {
        await tryOnce(remote, sink, options)
        const digest = await digestOf(part, remote.digest.algorithm)
        if (digest === remote.digest.hex) break
        await sink.reset()
        // The first mismatch may come from a part that another run corrupted; the second means that the offered file differs.
        if (++mismatches === 2) {
          throw new TransferError(
            `${remote.label} has the ${remote.digest.algorithm} ${digest} instead of ${remote.digest.hex}.`,
            { advice: 'The file differs from the announced one. It was not stored.' },
          )
        }
      } catch (error) {
        if (!(error instanceof Interruption)) throw error
        failed = sink.received() > before ? 1 : failed + 1
        if (failed >= tries) {
          throw new TransferError(`${remote.label} cannot be downloaded: ${error.message}.`, {
            advice: sink.received() > 0 ? 'Run the command again to resume the download.' : 'Try again later.',
            cause: error,
          })
        }
        await wait(error.waitMs ?? FIRST_WAIT_MS * 2 ** (failed - 1), signal)
      }
    }
    await sink.sync()
    await sink.close()
    await renameWithRetries(part, target)
    return { bytes: sink.received() }
  } catch (error) {
    await sink.close().catch(() => undefined)
    if (sink.received() === 0) await rm(part, { force: true })
    throw error
  }
}

/**
 * Downloads a remote file to `target`, complete and verified or not at all. Resumes an earlier attempt or run for the same
 * file.
 * @throws TransferError if it cannot be downloaded, or another run is downloading it; errors of the file system; the signal's
 * reason
 */
export const downloadFile = async (
  remote: RemoteFile,
  target: string,
  options: DownloadOptions,
): Promise<{ readonly bytes: number }> => {
  const { maxBytes = MAX_BYTES } = options
  if (remote.size !== null && remote.size > maxBytes) {
    throw new TransferError(`${remote.label} has ${remote.size} bytes; the limit is ${maxBytes}.`)
  }
  await makeFolder(dirname(target))
  const part = partPath(target, remote)
  // Two runs would overwrite each other's bytes, even after one of them has verified the file.
  const lock = await lockFile(
    `${part}.lock`,
    (holder) =>
      new TransferError(`Another run is downloading ${remote.label}${holder === null ? '' : ` (${holder})`}.`, {
        advice: 'Wait for it, or stop it. Then run this again.',
      }),
  )
  try {
    return await download(remote, part, target, options)
  } finally {
    await lock.release()
  }
}
