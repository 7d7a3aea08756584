import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type ByteRange, parseRange } from './byte-range.ts'
import { Binary } from './wire.schema.ts'

const header = (type: string, description: string) => ({ schema: { type }, description })
const HEADERS = {
  'Content-Disposition': header('string', 'attachment, with the name of the file'),
  'Content-Length': header('integer', 'Bytes of the body'),
  'X-Model-Hash': header('string', 'sha256:<hex> of the whole file'),
  ETag: header('string', 'The SHA-256 of the whole file, for If-None-Match and If-Range'),
}

/** The responses of `sendBlob`, for the API document. */
export const DOWNLOADED = {
  200: Type.Unsafe<unknown>({ ...Binary, description: 'The file', headers: HEADERS }),
  206: Type.Unsafe<unknown>({ ...Binary, description: 'The requested range of the file', headers: HEADERS }),
  304: Type.Null({ description: 'The file has not changed: it is the one that If-None-Match names' }),
  307: Type.Null({ description: 'With Prefer: redirect, where the files are in S3: the address of the file there' }),
  416: Type.Null({ description: 'The requested range is outside the file' }),
} as const

export interface Download {
  readonly size: number
  /** 64 lowercase hex digits. */
  readonly sha256: string
  readonly fileName: string
  /** Opens the file; called at most once, and never for HEAD, 304 and 416. */
  open(range: ByteRange | undefined, chunks: 'kept' | 'reused'): Promise<Readable>
  /** Returns another address of the file, for clients that send `Prefer: redirect`. */
  readonly redirect?: () => Promise<string>
  /** The file's path in an nginx in front of the service, if it sends `X-Sendfile-Type: X-Accel-Redirect`. */
  readonly internalPath?: string
}

const prefersRedirect = (header: string | undefined): boolean =>
  header?.split(/[,;]/).some((word) => word.trim().toLowerCase() === 'redirect') === true

/** Has nginx or the file storage send the file; null if the service sends it. */
const handOver = async (
  { headers: { prefer, 'x-sendfile-type': sendfile } }: FastifyRequest,
  reply: FastifyReply,
  { redirect, internalPath }: Download,
  { headers, whole }: { readonly headers: Record<string, string>; readonly whole: Record<string, string> },
): Promise<FastifyReply | null> => {
  if (redirect !== undefined && prefersRedirect([prefer].flat().join())) {
    const location = await redirect()
    return reply
      .code(307)
      .headers({ ...headers, location, 'cache-control': 'private, no-store', 'preference-applied': 'redirect' })
      .send()
  }
  if (internalPath === undefined || String(sendfile).toLowerCase() !== 'x-accel-redirect') return null
  // nginx sends these headers itself.
  const { 'content-length': _size, 'accept-ranges': _ranges, ...rest } = whole
  return reply.headers({ ...rest, 'x-accel-redirect': internalPath }).send('')
}

/** RFC 6266: an ASCII name for all clients and, if that differs, the full name in RFC 5987 form. */
export const attachment = (fileName: string): string => {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const header = `attachment; filename="${plain}"`
  if (plain === fileName) return header
  const encoded = encodeURIComponent(fileName.replace(/\p{Surrogate}/gu, '_')).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${header}; filename*=UTF-8''${encoded}`
}

/** If-None-Match compares weakly (RFC 9110, section 13.1.2): W/"x" equals "x". */
export const matchesTag = (header: string, etag: string): boolean =>
  header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)

/** Streams a stored file, or the requested range of it, directly from the store. */
export const sendBlob = async (request: FastifyRequest, reply: FastifyReply, file: Download): Promise<FastifyReply> => {
  const { size, sha256 } = file
  const { 'if-none-match': ifNoneMatch, 'if-range': ifRange, range } = request.headers
  const etag = `"${sha256}"`
  const headers = {
    etag,
    'accept-ranges': 'bytes',
    'x-model-hash': `sha256:${sha256}`,
    // The client may cache it, but must revalidate before each use: the key may have been revoked.
    'cache-control': 'private, no-cache',
  }
  const whole = {
    ...headers,
    'content-type': 'application/octet-stream',
    'content-disposition': attachment(file.fileName),
    'content-length': String(size),
  }
  if (ifNoneMatch !== undefined && matchesTag(ifNoneMatch, etag)) return reply.code(304).headers(headers).send()
  // An empty stream, because Fastify gives an absent body the length 0.
  if (request.method === 'HEAD') return reply.headers(whole).send(Readable.from([]))

  // A copy that has changed must be sent whole. We send no dates, so only our ETag can match.
  const requested =
    range === undefined || (ifRange !== undefined && ifRange !== etag) ? 'whole' : parseRange(range, size)
  if (requested === 'unsatisfiable') {
    const message = `The Range '${String(range).slice(0, 100)}' lies outside the file, which has ${size} bytes.`
    return reply
      .code(416)
      .headers({ ...headers, 'content-range': `bytes */${size}`, 'content-type': 'application/json; charset=utf-8' })
      .send(JSON.stringify({ error: 'bad_request', message, status_code: 416 }))
  }
  const isResumed = requested !== 'whole'
  if (range === undefined || isResumed) {
    const elsewhere = await handOver(request, reply, file, { headers, whole })
    if (elsewhere !== null) return elsewhere
  }
  // Opened before any header is set, so that a missing file is a plain 404. A socket consumes each chunk before the next is
  // read; a substitute in tests may keep them all.
  const chunks = request.raw.socket instanceof Socket ? 'reused' : 'kept'
  const stream = await file.open(requested === 'whole' ? undefined : requested, chunks)
  if (requested === 'whole') return reply.headers(whole).send(stream)
  const { start, end } = requested
  return reply
    .code(206)
    .headers({ ...whole, 'content-range': `bytes ${start}-${end}/${size}`, 'content-length': String(end - start + 1) })
    .send(stream)
}
