import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { request as requestOverHttp } from 'node:http'
import { request as requestOverHttps } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Interruption, reasonOf } from '../../inference/sources/source-error.ts'

export interface Upload {
  readonly url: URL
  readonly key: string
  readonly path: string
  readonly bytes: number
  readonly fileName: string
  readonly fields: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly progress: (done: number, total: number) => void
  /** A connection over which nothing moves for so long is given up. */
  readonly stallMs: number
}

export interface Answer {
  readonly status: number
  readonly retryAfterMs: number | null
  readonly body: unknown
}

const LONGEST_ANSWER = 1024 ** 2

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** In a header, quotes and line breaks would end the name early. */
const quoted = (name: string): string => `"${name.replace(/[\r\n"\\]/g, '_')}"`

/**
 * Sends a file as multipart/form-data, once, reading it as it goes: fetch would tell nobody how far it is.
 * @throws Interruption when the connection breaks before there is an answer; the file system's own errors
 */
export const uploadOnce = async (upload: Upload): Promise<Answer> => {
  const { url, key, path, bytes, fields, signal, stallMs } = upload
  signal.throwIfAborted()
  const boundary = `svc-${randomBytes(16).toString('hex')}`
  const part = (disposition: string, rest: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${rest}`
  const head = Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`))
      .join('') +
      part(`name="file"; filename=${quoted(upload.fileName)}`, 'content-type: application/octet-stream\r\n\r\n'),
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)

  const request = (url.protocol === 'https:' ? requestOverHttps : requestOverHttp)(url, {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + bytes + tail.length,
    },
  })
  request.setTimeout(stallMs, () => request.destroy(new Error(`nothing moved for ${stallMs / 1000} s`)))
  const answered = new Promise<Answer>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        if (text.length < LONGEST_ANSWER) text += piece
      })
      response.on('error', reject)
      response.on('end', () => {
        const seconds = Number(response.headers['retry-after'] ?? Number.NaN)
        const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null
        resolve({ status: response.statusCode ?? 0, retryAfterMs, body: parsed(text) })
      })
    })
  })

  let fileError: Error | null = null
  async function* body(): AsyncGenerator<Uint8Array> {
    yield head
    let sent = 0
    const file = createReadStream(path, { highWaterMark: 256 * 1024 })
    file.on('error', (error) => {
      fileError = error
    })
    for await (const piece of file as AsyncIterable<Uint8Array>) {
      yield piece
      sent += piece.length
      upload.progress(sent, bytes)
    }
    yield tail
  }
  const sending = pipeline(Readable.from(body(), { objectMode: true }), request)
  // The answer decides: it may come before everything is sent, when the service refuses.
  sending.catch(() => undefined)
  try {
    return await answered
  } catch (error) {
    signal.throwIfAborted()
    if (fileError !== null) throw fileError
    throw new Interruption(`the connection broke (${reasonOf(error)})`, { cause: error })
  } finally {
    request.destroy()
    await sending.catch(() => undefined)
  }
}
