import { stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/client.ts'
import type { DownloadFormat } from '../../domain/model.ts'
import { nullIfMissing } from '../../platform/files/missing-file.ts'
import { downloadFile } from '../../platform/transfer/download-file.ts'
import { digestOf } from '../../platform/transfer/file-sink.ts'
import { follow, plainEtag, type Request } from '../../platform/transfer/follow.ts'
import { type RemoteFile, safeFileName } from '../../platform/transfer/remote-file.ts'
import { Interruption } from '../../platform/transfer/transfer-error.ts'
import { type Connection, toFailure, unreachable } from '../connection.ts'
import { Failure } from '../failure.ts'
import { showProgress } from '../progress.ts'
import type { Session } from '../session.ts'
import type { ListedVersion } from './catalog.ts'

export interface PullOptions {
  readonly connection: Connection
  readonly modelId: string
  readonly version: ListedVersion
  readonly format: DownloadFormat | undefined
  /** A folder, or the file's path. */
  readonly output: string
  /** Called with the file's name before the download; may throw. */
  readonly accept?: (fileName: string) => void
}

/** How long to wait for a conversion: longer than the service allows for it, including conversions queued before it. */
const CONVERSION_MS = 30 * 60 * 1000
const MAX_PAUSE_SECONDS = 10

export interface Pulled {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly wasThere: boolean
}

/** If `output` is an existing folder or ends with a slash, appends the service's file name; otherwise it is the file. */
const targetOf = async (output: string, cwd: string, fileName: string): Promise<string> => {
  const path = resolve(cwd, output)
  const isFolder = /[/\\]$/.test(output) || (await stat(path).catch(() => null))?.isDirectory() === true
  return isFolder ? join(path, fileName) : path
}

/** True if the file already exists. @throws Failure if the existing file is different */
const isComplete = async (target: string, bytes: number, sha256: string): Promise<boolean> => {
  const found = await nullIfMissing(stat(target))
  if (found === null) return false
  const same = found.isFile() && found.size === bytes && (await digestOf(target, 'sha256')) === sha256
  if (same) return true
  throw new Failure(`${target} already exists with other contents; it was not changed.`, {
    advice: 'Move it, or choose another path with --output.',
  })
}

/** Repeats the request until the file is converted; the service says when to ask again. @throws Failure */
const converted = async (
  ask: () => Promise<Response>,
  refusal: (response: Response) => Promise<Failure>,
  { io, out }: Session,
): Promise<Response> => {
  const deadline = performance.now() + CONVERSION_MS
  let noted = ''
  for (;;) {
    const response = await ask()
    if (response.ok) return response
    const failure = await refusal(response)
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    if (response.status !== 404 || !(retryAfter >= 0)) throw failure
    if (performance.now() > deadline)
      throw new Failure(failure.message, { advice: 'Pull it again later.', cause: failure })
    if (failure.message !== noted) out.note(failure.message)
    noted = failure.message
    await sleep(Math.min(retryAfter, MAX_PAUSE_SECONDS) * 1000, undefined, { signal: io.signal })
  }
}

/** Downloads a version's file: resumes an earlier pull, verifies the hash, and moves the file into place only when complete. */
export const pull = async (options: PullOptions, session: Session): Promise<Pulled> => {
  const { connection, version, format } = options
  const { io } = session
  const { baseUrl } = connection
  const access = await session.apiKey(baseUrl)
  const ownHeaders = { authorization: `Bearer ${access?.key}` }
  const url = new URL(`${baseUrl}/api/v1/models/${options.modelId}/versions/${version.version}/download`)
  if (format !== undefined) url.searchParams.set('format', format)
  const failureOf = (status: number, body: unknown): Failure =>
    toFailure(new ApiError(status, body), { baseUrl, keySource: access?.source })
  const refusal = async (response: Response): Promise<Failure> =>
    failureOf(response.status, await response.json().catch(() => null))

  // Requests one byte, because a HEAD response has no error message.
  const requested: Request = { headers: { range: 'bytes=0-0' }, ownHeaders, leaveHost: false, signal: io.signal }
  const firstByte = async (): Promise<Response> => {
    const { response } = await follow(url, requested).catch((error: unknown) => {
      if (!(error instanceof Interruption)) throw error
      const { refusal: sent } = error
      throw sent === null ? unreachable(baseUrl, error.message, error) : failureOf(sent.status, sent.body)
    })
    return response
  }
  const response = await converted(firstByte, refusal, session)
  await response.body?.cancel()
  const size = Number(/\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
  const sha256 = /^sha256:([0-9a-f]{64})$/.exec(response.headers.get('x-model-hash') ?? '')?.[1]
  if (sha256 === undefined || !Number.isSafeInteger(size)) {
    throw new Failure(`${baseUrl} did not send a checksum for this file. Is the address right?`)
  }
  const named = /filename="([^"]*)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? ''
  const fileName = safeFileName(named)
  options.accept?.(fileName)
  const target = await targetOf(options.output, io.cwd, fileName)
  if (await isComplete(target, size, sha256)) return { path: target, bytes: size, sha256, wasThere: true }

  const remote: RemoteFile = {
    label: basename(target),
    url,
    ownHeaders: async () => ({ ...ownHeaders, prefer: 'redirect' }),
    etag: plainEtag(response.headers.get('etag')),
    size,
    digest: { algorithm: 'sha256', hex: sha256 },
    refusal,
  }
  const bar = showProgress(io, `Pulling ${basename(target)}`)
  try {
    await downloadFile(remote, target, { signal: io.signal, progress: bar.update })
  } finally {
    bar.end()
  }
  return { path: target, bytes: size, sha256, wasThere: false }
}
