import { type DestinationStream, destination, type Logger, pino } from 'pino'

export interface LogOptions {
  /** A pino level, or 'silent'. */
  readonly level: string
  /** Where lines go; when absent, standard output, in blocks: a write per line would cost as much as the request. */
  readonly destination?: DestinationStream
}

const REDACTED = '[redacted]'
// Not `code`: in an error that is the name of the fault, and login codes travel in queries and bodies only.
const SECRET_FIELD =
  /"(authorization|cookie|set-cookie|api_?key|(?:access_|refresh_)?token|password|secret|code_verifier)":"(?:[^"\\]|\\.)*"/gi
const KEY = /sk_live_\w+/g
const SECRET_QUERY = /([?&](?:code|key|token|access_token|api_key|password|secret|code_verifier)=)[^&#]*/gi

/** The path and query as they may be logged. */
export const loggableUrl = (url: string): string =>
  url.includes('?') ? url.replace(SECRET_QUERY, `$1${REDACTED}`) : url

/** The last look at a finished line: secrets are found by their field's name and, wherever they are, by their form. */
const redact = (line: string): string => line.replace(SECRET_FIELD, `"$1":"${REDACTED}"`).replace(KEY, REDACTED)

/** Structured logs, one JSON object a line, without secrets. */
export const createLogger = ({ level, destination: stream }: LogOptions): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    stream ?? destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 100 }),
  )
