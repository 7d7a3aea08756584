import multipart from '@fastify/multipart'
import type { FastifyError, FastifyRequest } from 'fastify'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import type { App } from './app.ts'
import { routeConfigOf } from './route-config.ts'
import { checkFormFieldNames } from './unknown-fields.ts'

const FILE_PART = 'file'
const MAX_FIELDS = 50
const MAX_FIELD_LENGTH = 64 * 1024
/** The maximum size of the headers and fields around a file. */
const FORM_OVERHEAD = MAX_FIELDS * (MAX_FIELD_LENGTH + 1024)

interface Discardable {
  discard(): Promise<void>
}

/** The part of a blob store that uploads use. */
export interface UploadTarget<Staged extends Discardable> {
  stage(source: AsyncIterable<Uint8Array>, limits: { readonly maxBytes: number }): Promise<Staged>
}

export interface Upload<Staged> {
  /** The caller must keep or discard it. */
  readonly file: Staged & { readonly fileName: string }
  /** Files in the allowed additional parts, by part name; the caller must keep or discard each of them as well. */
  readonly others: Readonly<Record<string, Staged>>
  readonly fields: Readonly<Record<string, string>>
}

/**
 * Lets the routes of this scope accept multipart/form-data. Call it inside a separate plugin (`app.register(async (scope) => {
 * await acceptUploads(scope); scope.post(...) })`), because the parser adds hooks that would slow down every other request.
 * Other routes answer a form with 400.
 */
export const acceptUploads = async (scope: App): Promise<void> => {
  await scope.register(multipart, {
    throwFileSizeLimit: false,
    limits: { fieldNameSize: 100, fieldSize: MAX_FIELD_LENGTH, fields: MAX_FIELDS, fileSize: Number.POSITIVE_INFINITY },
  })
}

/** Returns a display name, not a path: no folders or control characters, and short enough for a header. */
const safeName = (given: string | undefined): string => {
  const base = (given ?? '').split(/[\\/]/).at(-1) ?? ''
  const clean = base.replace(/\p{Cc}/gu, '').trim()
  const name = [...clean].slice(0, 255).join('')
  return /^\.{0,2}$/.test(name) ? FILE_PART : name
}

const FORM_FAULTS: Readonly<Record<string, string>> = {
  FST_FIELDS_LIMIT: `The form has more than ${MAX_FIELDS} fields.`,
  FST_PARTS_LIMIT: 'The form has too many parts.',
  FST_PROTO_VIOLATION: 'The form has a field whose name is not allowed.',
  FST_INVALID_JSON_FIELD_ERROR: 'The form has a JSON field that is not valid JSON. Send fields as plain text.',
  FST_MP_PREMATURE_CLOSE: 'The connection was closed before the whole form had arrived.',
}

/** Turns the parser's plain errors for malformed forms into bad_request; passes on errors of the store. */
const formFault = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof ServiceError) return error
  const { code } = error as Partial<FastifyError>
  if (code !== undefined && Object.hasOwn(FORM_FAULTS, code)) return badRequest(FORM_FAULTS[code]!)
  // The parser searches for the boundary, which it calls a needle.
  if (/\bneedle\b/.test(error.message))
    return badRequest(
      'The boundary in the Content-Type is longer than the 70 characters that RFC 2046 allows. Use a shorter one.',
    )
  return /multipart|boundary|terminated early|malformed/i.test(error.message)
    ? badRequest(`The form is not valid multipart/form-data: ${error.message}.`)
    : error
}

type Part = { readonly fieldname: string } & (
  | { readonly type: 'file'; readonly filename: string | undefined; readonly file: AsyncIterable<Uint8Array> }
  | { readonly type: 'field'; readonly value: unknown; readonly valueTruncated: boolean }
)

/** The parser replaces bytes that are not UTF-8 with U+FFFD. */
const assertDecoded = (text: string, what: string): void => {
  if (text.includes('\ufffd'))
    throw badRequest(`The form's ${what} is not valid UTF-8, or contains U+FFFD. Send the form encoded as UTF-8.`)
}

const fieldOf = (part: Extract<Part, { type: 'field' }>, known: ReadonlyMap<string, string>): string => {
  const { fieldname: name, value } = part
  if (name === FILE_PART) throw badRequest("'file' must be sent as a file: a form part with a filename.")
  if (known.has(name)) throw badRequest(`The form names the field '${name}' twice.`)
  if (part.valueTruncated) throw badRequest(`The form's field '${name}' is longer than ${MAX_FIELD_LENGTH} bytes.`)
  if (typeof value !== 'string') throw badRequest(`The form's field '${name}' must be plain text.`)
  if (value.includes('\0')) throw badRequest(`The form's field '${name}' contains the character U+0000.`)
  assertDecoded(value, `field '${name}'`)
  return value
}

/**
 * Streams the form's file, named 'file', into the store and collects its fields, which may precede or follow it. Files in parts
 * named in `also` are accepted too. If the form has the field of `instead`, that field supplies the file, named by the field
 * `file_name`. Nothing is kept if the form is invalid, the file too large, or the client disconnects.
 */
export const readUpload = async <Staged extends Discardable>(
  request: FastifyRequest,
  {
    blobs,
    maxBytes,
    also = [],
    instead,
  }: {
    readonly blobs: UploadTarget<Staged>
    readonly maxBytes: number
    readonly also?: readonly string[]
    readonly instead?: {
      readonly field: string
      readonly stage: (fields: Readonly<Record<string, string>>) => Promise<Staged>
    }
  },
): Promise<Upload<Staged>> => {
  if (!request.isMultipart()) {
    const type = request.headers['content-type'] ?? 'none'
    throw badRequest(
      `The Content-Type must be multipart/form-data with a part named 'file', got ${type.slice(0, 100)}.`,
    )
  }
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes * (1 + also.length) + FORM_OVERHEAD) {
    throw badRequest(
      `The upload of ${announced} bytes is larger than the ${maxBytes} bytes that this server accepts. ` +
        'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
    )
  }

  const fields = new Map<string, string>()
  const others = new Map<string, Staged>()
  let staged: Staged | undefined
  let fileName = FILE_PART
  try {
    for await (const part of request.parts() as AsyncIterable<Part>) {
      if (part.type === 'field') {
        fields.set(part.fieldname, fieldOf(part, fields))
        continue
      }
      if (also.includes(part.fieldname)) {
        if (others.has(part.fieldname)) throw badRequest(`The form has more than one file in '${part.fieldname}'.`)
        others.set(part.fieldname, await blobs.stage(part.file, { maxBytes }))
        continue
      }
      if (part.fieldname !== FILE_PART) {
        throw badRequest(`The form has a file in the part '${part.fieldname}'. Send it in the part named 'file'.`)
      }
      if (staged !== undefined) throw badRequest("The form has more than one file. Send one, in the part named 'file'.")
      assertDecoded(part.filename ?? '', 'file name')
      fileName = safeName(part.filename)
      staged = await blobs.stage(part.file, { maxBytes })
    }
    const { form } = routeConfigOf(request)
    if (form !== undefined) checkFormFieldNames(request, form, Object.fromEntries(fields))
    if (instead !== undefined && fields.has(instead.field)) {
      if (staged !== undefined)
        throw badRequest(`The form has a file and the field '${instead.field}'. Send one of them.`)
      fileName = safeName(fields.get('file_name'))
      staged = await instead.stage(Object.fromEntries(fields))
    }
    if (staged === undefined) throw badRequest("The form has no file. Send it in a part named 'file' with a filename.")
    return { file: { ...staged, fileName }, others: Object.fromEntries(others), fields: Object.fromEntries(fields) }
  } catch (error) {
    for (const file of [staged, ...others.values()]) await file?.discard()
    throw formFault(error)
  }
}
