import type { FastifyRequest } from 'fastify'
import { InferenceError } from '../errors.ts'
import { invalid, unsupported } from './request-body.ts'
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from './transcript-formats.ts'

const MIB = 1024 * 1024
/** An hour of speech is 110 MiB as 16-bit WAV at 16 kHz, and 28 MiB as MP3. */
export const MAX_FILE_BYTES = 128 * MIB
const FORM_OVERHEAD = MIB

export const FORM_LIMITS = { fieldNameSize: 100, fieldSize: 64 * 1024, fields: 50, files: 1, fileSize: MAX_FILE_BYTES }

export interface TranscriptionRequest {
  readonly model: string
  readonly audio: Buffer
  /** null lets the model detect it. */
  readonly language: string | null
  readonly format: TranscriptFormat
}

const tooLarge = (): InferenceError =>
  new InferenceError('request_too_large', `The file is larger than the limit of ${MAX_FILE_BYTES / MIB} MiB.`, {
    param: 'file',
  })

/** Unsupported fields, with the values that are accepted because they have no effect. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  prompt: [''],
  temperature: ['0', '0.0', ''],
  stream: ['false', ''],
  chunking_strategy: ['auto', ''],
  'timestamp_granularities[]': ['segment'],
  timestamp_granularities: ['segment'],
  'include[]': [],
}

const UNDERSTOOD = new Set(['model', 'language', 'response_format'])

const readField = (fields: Map<string, string>, name: string, value: unknown): void => {
  if (typeof value !== 'string') throw invalid(`The form's field '${name}' must be plain text.`, name)
  if (name === 'file')
    throw invalid('file must be a file part with a filename, got text. With curl, use -F file=@foo.wav.', 'file')
  if (UNDERSTOOD.has(name)) fields.set(name, value.trim())
  else if (!Object.hasOwn(FOREIGN, name)) throw invalid(`'${name}' is not a field of this request. Leave it out.`, name)
  else if (!FOREIGN[name]!.includes(value))
    throw unsupported(`'${name}' has a value that this server does not support. Leave it out.`, name)
}

const formatOf = (name: string): TranscriptFormat => {
  if (Object.hasOwn(TRANSCRIPT_FORMATS, name)) return name as TranscriptFormat
  const known = Object.keys(TRANSCRIPT_FORMATS).join(', ')
  throw invalid(`response_format must be one of ${known}, got '${name.slice(0, 100)}'.`, 'response_format')
}

const languageOf = (text: string | undefined): string | null => {
  if (text === undefined || text === '' || text === 'auto') return null
  if (/^[a-z]{2,3}$/i.test(text)) return text.toLowerCase()
  throw invalid(`language must be an ISO 639-1 code such as en, got '${text.slice(0, 100)}'.`, 'language')
}

/** Converts faults of the form into client errors. The parser throws plain errors for some and errors with codes for others. */
const formFault = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof InferenceError) return error
  const { code } = error as NodeJS.ErrnoException
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge()
  if (code === 'FST_FILES_LIMIT') return invalid('The form has several files. Send one recording per request.', 'file')
  return code?.startsWith('FST_') || /multipart|boundary|unexpected end|malformed|terminated/i.test(error.message)
    ? invalid(`The form is not valid multipart/form-data: ${error.message}.`)
    : error
}

/** Reads the form, including its file, into memory. @throws InferenceError that names the field at fault */
export const readTranscriptionForm = async (request: FastifyRequest): Promise<TranscriptionRequest> => {
  if (!request.isMultipart()) {
    throw invalid("The Content-Type must be multipart/form-data, with the recording as the part 'file'.", 'file')
  }
  if (Number(request.headers['content-length'] ?? 0) > MAX_FILE_BYTES + FORM_OVERHEAD) throw tooLarge()
  const fields = new Map<string, string>()
  let audio: Buffer | null = null
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') readField(fields, part.fieldname, part.value)
      else if (part.fieldname === 'file') audio = await part.toBuffer()
      else
        throw invalid(`The form has a file in the part '${part.fieldname}'. Send it in the part named 'file'.`, 'file')
    }
  } catch (error) {
    throw formFault(error)
  }
  const model = fields.get('model')
  if (!model) throw invalid('model is required: a non-empty string.', 'model')
  if (audio === null) throw invalid("The form has no file. Send the recording in the part named 'file'.", 'file')
  return {
    model,
    audio,
    language: languageOf(fields.get('language')),
    format: formatOf(fields.get('response_format') || 'json'),
  }
}

export interface FormDeadline {
  /** Time that every form gets... */
  readonly graceMs: number
  /** ...plus one second for each time this many bytes arrive. */
  readonly bytesPerSecond: number
}

export const FORM_DEADLINE: FormDeadline = { graceMs: 30_000, bytesPerSecond: 64 * 1024 }

const tooSlow = (bytes: number, ms: number, { bytesPerSecond }: FormDeadline): InferenceError =>
  new InferenceError(
    'request_timeout',
    `The form arrived too slowly: ${bytes} bytes in ${Math.round(ms / 1000)} seconds. At least ${bytesPerSecond / 1024} KiB per ` +
      'second must arrive. Try again over a faster connection, or send a smaller file.',
  )

/**
 * Reads a form under a deadline, because it takes memory while it is read. With only the server's stall limit, a client that
 * sends a few bytes per second could hold that memory for hours.
 * @throws InferenceError request_timeout, and what `read` throws
 */
export const withinDeadline = async <T>(
  { socket }: Pick<FastifyRequest, 'socket'>,
  deadline: FormDeadline,
  read: () => Promise<T>,
): Promise<T> => {
  const started = performance.now()
  const before = socket.bytesRead
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_resolve, reject) => {
    const check = (): void => {
      const bytes = socket.bytesRead - before
      const ms = performance.now() - started
      const left = deadline.graceMs + (bytes / deadline.bytesPerSecond) * 1000 - ms
      if (left <= 0) reject(tooSlow(bytes, ms, deadline))
      else timer = setTimeout(check, Math.ceil(left))
    }
    check()
  })
  try {
    return await Promise.race([read(), expired])
  } finally {
    clearTimeout(timer)
  }
}
