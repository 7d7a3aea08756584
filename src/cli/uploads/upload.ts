import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { request as requestOverHttp } from 'node:http'
import { request as requestOverHttps } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { anySignal } from '../../domain/any-signal.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { routeTo } from '../../platform/transfer/proxy.ts'
import { Interruption, reasonOf } from '../../platform/transfer/transfer-error.ts'

export interface Line {
  readonly key: string
  readonly signal: AbortSignal
  /** A connection without any traffic for this long is given up. */
  readonly stallMs: number
}

export interface Sending {
  readonly method: 'HEAD' | 'PATCH' | 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly before?: Buffer
  /** Sends the bytes from `from` to `bytes`, which is the size measured before. */
  readonly file?: {
    readonly path: string
    readonly from: number
    readonly bytes: number
    /** Counts from the start of the file. */
    readonly progress: (done: number, total: number) => void
  }
  readonly after?: Buffer
}

export interface UploadResponse {
  readonly status: number
  readonly retryAfterMs: number | null
  /** The number of bytes that the service has of an upload. */
  readonly uploadOffset: number | null
  /** The response's X-Service-Warning. */
  readonly warning: string | null
  readonly body: unknown
}

const MAX_ANSWER_LENGTH = 1024 ** 2
const NOTHING = Buffer.alloc(0)

const numberIn = (header: string | string[] | undefined): number | null => {
  const value = Number(header ?? Number.NaN)
  return Number.isFinite(value) ? value : null
}

/** Quotes and line breaks would end the name in the header early. */
const quoted = (name: string): string => `"${name.replace(/[\r\n"\\]/g, '_')}"`

/**
 * Sends a request once and streams its file, because fetch does not report upload progress.
 * @throws Interruption when the connection breaks before there is a response; the file system's own errors
 */
export const sendOnce = async (sending: Sending, { key, signal, stallMs }: Line): Promise<UploadResponse> => {
  const { method, url, headers, before = NOTHING, file, after = NOTHING } = sending
  signal.throwIfAborted()
  const route = await routeTo(url, anySignal(signal, AbortSignal.timeout(stallMs))).catch((error: unknown) => {
    signal.throwIfAborted()
    throw new Interruption(`there is no connection (${reasonOf(error)})`, { cause: error })
  })
  const request = (url.protocol === 'https:' ? requestOverHttps : requestOverHttp)(url, {
    method,
    ...route,
    signal,
    headers: {
      ...route.headers,
      ...headers,
      authorization: `Bearer ${key}`,
      ...(method !== 'HEAD' && {
        'content-length': before.length + (file === undefined ? 0 : file.bytes - file.from) + after.length,
      }),
    },
  })
  request.setTimeout(stallMs, () => request.destroy(new Error(`no progress for ${stallMs / 1000} s`)))
  const answered = new Promise<UploadResponse>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        if (text.length < MAX_ANSWER_LENGTH) text += piece
      })
      response.on('error', reject)
      response.on('end', () => {
        const seconds = numberIn(response.headers['retry-after'])
        resolve({
          status: response.statusCode ?? 0,
          retryAfterMs: seconds === null ? null : seconds * 1000,
          uploadOffset: numberIn(response.headers['upload-offset']),
          warning: [response.headers['x-service-warning'] ?? null].flat().join('; ') || null,
          body: jsonOrNull(text),
        })
      })
    })
  })

  let fileError: Error | null = null
  async function* body(): AsyncGenerator<Uint8Array> {
    if (before.length > 0) yield before
    if (file !== undefined && file.from < file.bytes) {
      let sent = file.from
      file.progress(sent, file.bytes)
      const stream = createReadStream(file.path, { start: file.from, end: file.bytes - 1, highWaterMark: 256 * 1024 })
      stream.on('error', (error) => {
        fileError = error
      })
      for await (const piece of stream as AsyncIterable<Uint8Array>) {
        yield piece
        sent += piece.length
        file.progress(sent, file.bytes)
      }
    }
    if (after.length > 0) yield after
  }
  const running = pipeline(Readable.from(body(), { objectMode: true }), request)
  // The response decides: it may come before everything is sent, if the service refuses.
  running.catch(() => undefined)
  try {
    return await answered
  } catch (error) {
    signal.throwIfAborted()
    if (fileError !== null) throw fileError
    throw new Interruption(`the connection broke (${reasonOf(error)})`, { cause: error })
  } finally {
    request.destroy()
    await running.catch(() => undefined)
  }
}

/** Builds a multipart/form-data body from text fields and an optional file. */
const formOf = (fields: Readonly<Record<string, string>>, fileName: string | null) => {
  const boundary = `svc-${randomBytes(16).toString('hex')}`
  const part = (disposition: string, rest: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${rest}`
  const texts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`))
  if (fileName !== null) {
    texts.push(part(`name="file"; filename=${quoted(fileName)}`, 'content-type: application/octet-stream\r\n\r\n'))
  }
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    before: Buffer.from(texts.join('')),
    after: Buffer.from(`${fileName === null ? '' : '\r\n'}--${boundary}--\r\n`),
  }
}

export interface Upload {
  readonly url: URL
  readonly fields: Readonly<Record<string, string>>
  readonly fileName: string
  readonly path: string
  readonly bytes: number
  readonly progress: (done: number, total: number) => void
}

/** Uploads a file and its fields in one form. */
export const uploadOnce = (
  { url, fields, fileName, path, bytes, progress }: Upload,
  line: Line,
): Promise<UploadResponse> =>
  sendOnce({ method: 'POST', url, ...formOf(fields, fileName), file: { path, from: 0, bytes, progress } }, line)

/** Sends text fields in a form without a file. */
export const sendForm = (url: URL, fields: Readonly<Record<string, string>>, line: Line): Promise<UploadResponse> =>
  sendOnce({ method: 'POST', url, ...formOf(fields, null) }, line)
