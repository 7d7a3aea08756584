import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { follow, plainEtag } from './follow.ts'
import type { Digest, RemoteFile } from './remote-file.ts'
import { Interruption, reasonOf, SourceError } from './source-error.ts'

export interface DownloadOptions {
  readonly signal: AbortSignal
  /** Called as bytes arrive; the total is null where nobody announced it. */
  readonly progress?: (received: number, total: number | null) => void
  /** Tries in a row that bring nothing new. */
  readonly tries?: number
  /** A connection that brings nothing for so long is given up. */
  readonly stallMs?: number
  readonly maxBytes?: number
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const TRIES = 5
const STALL_MS = 60_000
const MAX_BYTES = 1024 ** 4
const FIRST_WAIT_MS = 500

/** The digest of a file on this disk. Git names a blob by the sha1 of its length and its bytes. */
export const digestOf = async (path: string, algorithm: Digest['algorithm']): Promise<string> => {
  const hash = createHash(algorithm === 'sha256' ? 'sha256' : 'sha1')
  if (algorithm === 'git-blob') hash.update(`blob ${(await stat(path)).size}\0`)
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Named after the bytes that it grows into: what was left of other bytes is never continued. */
const partPath = (target: string, { digest }: RemoteFile): string => {
  const mark = createHash('sha256').update(`${digest.algorithm} ${digest.hex}`).digest('hex').slice(0, 16)
  return join(dirname(target), `.${basename(target).slice(0, 100)}.${mark}.part`)
}

/** First byte of the answer's body; NaN when it does not say. */
const startOf = (response: Response): number => {
  if (response.status !== 206) return 0
  const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1]
  return start === undefined ? Number.NaN : Number(start)
}

interface Growing {
  readonly path: string
  readonly file: FileHandle
  size: number
}

const restart = async (growing: Growing): Promise<void> => {
  await growing.file.truncate(0)
  growing.size = 0
}

const receive = async (
  response: Response,
  growing: Growing,
  limit: number,
  alive: () => void,
  total: number | null,
  progress: DownloadOptions['progress'],
): Promise<void> => {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      alive()
      if (growing.size + value.length > limit) {
        await restart(growing)
        throw new SourceError(`More than ${limit} bytes arrive, which is more than there should be.`)
      }
      await growing.file.appendFile(value).catch((error: Error) => {
        throw Object.assign(error, { path: growing.path })
      })
      growing.size += value.length
      progress?.(growing.size, total)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** One try at bringing what is there up to the whole file. */
const tryOnce = async (remote: RemoteFile, growing: Growing, options: DownloadOptions): Promise<void> => {
  const { signal, progress, stallMs = STALL_MS, maxBytes = MAX_BYTES } = options
  const limit = remote.size ?? maxBytes
  if (growing.size > limit) await restart(growing)
  if (remote.size !== null && growing.size === remote.size) return
  const had = growing.size
  const stop = new AbortController()
  const stalled = (): void => stop.abort(new Error(`nothing arrived for ${stallMs / 1000} s`))
  const own = await remote.ownHeaders()
  const ifRange = had > 0 && remote.etag !== null ? { 'if-range': `"${remote.etag}"` } : {}
  const { response, about } = await follow(remote.url, {
    headers: had > 0 ? { range: `bytes=${had}-` } : {},
    // The host of the bytes may know them under another tag.
    ownHeaders: { ...own, ...ifRange },
    signal: AbortSignal.any([signal, stop.signal]),
  })
  let timer = setTimeout(stalled, stallMs)
  try {
    const told = plainEtag(about.get('x-linked-etag') ?? about.get('etag'))
    if (response.ok && remote.etag !== null && told !== null && told !== remote.etag) {
      await restart(growing)
      throw new SourceError(`${remote.label} has changed while it was being downloaded.`, { advice: 'Start again.' })
    }
    if (response.status === 416) {
      await restart(growing)
      throw new Interruption('what was there could not be continued')
    }
    if (!response.ok) throw await remote.refusal(response)
    const start = startOf(response)
    if (start === 0 && had > 0) await restart(growing)
    else if (start !== had) throw new Interruption('another part of the file came than was asked for')
    const total = remote.size
    await receive(
      response,
      growing,
      limit,
      () => {
        clearTimeout(timer)
        timer = setTimeout(stalled, stallMs)
      },
      total,
      progress,
    )
  } catch (error) {
    if (error instanceof SourceError || error instanceof Interruption) throw error
    signal.throwIfAborted()
    // The disk is full, or the like: no other try helps.
    if ((error as NodeJS.ErrnoException).path === growing.path) throw error
    throw new Interruption(`the connection broke (${reasonOf(stop.signal.aborted ? stop.signal.reason : error)})`, {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
    await response.body?.cancel().catch(() => undefined)
  }
  if (remote.size !== null && growing.size < remote.size) {
    throw new Interruption(`only ${growing.size} of ${remote.size} bytes arrived`)
  }
}

/**
 * Brings a remote file to `target`: whole and checked, or not at all. What an earlier try, or an earlier run, left of the
 * same bytes is continued.
 * @throws SourceError when it cannot be had; the file system's own errors; the signal's reason
 */
export const downloadFile = async (
  remote: RemoteFile,
  target: string,
  options: DownloadOptions,
): Promise<{ readonly bytes: number }> => {
  const { signal, tries = TRIES, maxBytes = MAX_BYTES, wait = (ms) => sleep(ms, undefined, { signal }) } = options
  if (remote.size !== null && remote.size > maxBytes) {
    throw new SourceError(`${remote.label} has ${remote.size} bytes; at most ${maxBytes} are taken.`)
  }
  await mkdir(dirname(target), { recursive: true })
  const part = partPath(target, remote)
  const file = await open(part, 'a')
  const growing: Growing = { path: part, file, size: (await file.stat()).size }
  try {
    for (let failed = 0, mismatches = 0; ; ) {
      const before = growing.size
      try {
        await tryOnce(remote, growing, options)
        const digest = await digestOf(part, remote.digest.algorithm)
        if (digest === remote.digest.hex) break
        await restart(growing)
        // Once may be a part that another run had spoilt; twice is what is offered.
        if (++mismatches === 2) {
          throw new SourceError(
            `${remote.label} arrives with the ${remote.digest.algorithm} ${digest} instead of ${remote.digest.hex}.`,
            { advice: 'What is offered is not what was announced. It was not kept.' },
          )
        }
      } catch (error) {
        if (!(error instanceof Interruption)) throw error
        failed = growing.size > before ? 1 : failed + 1
        if (failed >= tries) {
          throw new SourceError(`${remote.label} cannot be downloaded: ${error.message}.`, {
            advice: growing.size > 0 ? 'Run it again to go on from where it stopped.' : 'Try again later.',
            cause: error,
          })
        }
        await wait(error.waitMs ?? FIRST_WAIT_MS * 2 ** (failed - 1), signal)
      }
    }
    await file.sync()
    await file.close()
    await rename(part, target)
    return { bytes: growing.size }
  } catch (error) {
    await file.close().catch(() => undefined)
    if (growing.size === 0) await rm(part, { force: true })
    throw error
  }
}
