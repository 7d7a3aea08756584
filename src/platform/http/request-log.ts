import { type DestinationStream, destination, type Logger, pino } from 'pino'

export interface LogOptions {
  /** A pino level, or 'silent'. */
  readonly level: string
  /** The destination of lines; by default standard output, in blocks: one write per line would cost as much as the request. */
  readonly destination?: DestinationStream
}

const REDACTED = '[redacted]'

/** The log message of a completed request. */
export const REQUEST = 'request'
const REQUEST_LINE_END = `"msg":"${REQUEST}"}\n`

// Not `code`: in errors that is the fault's name, and login codes only appear in queries and bodies.
const SECRET_FIELD =
  /"(authorization|cookie|set-cookie|api_?key|(?:access_|refresh_)?token|password|secret|code_verifier)":"(?:[^"\\]|\\.)*"/gi
const KEY = /sk_live_\w+/g
const SECRET_QUERY = /([?&](?:code|key|token|access_token|api_key|password|secret|code_verifier)=)[^&#]*/gi

/** Returns the path and query with secrets redacted. */
export const loggableUrl = (url: string): string =>
  url.includes('?') ? url.replace(SECRET_QUERY, `$1${REDACTED}`) : url

/** Removes secrets from a finished line, by field name or format. */
const redact = (line: string): string => {
  // The line of a request has none of these fields; skipping the check saves a tenth of a heartbeat's cost.
  const named = line.endsWith(REQUEST_LINE_END) ? line : line.replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
  return named.includes('sk_live_') ? named.replace(KEY, REDACTED) : named
}

/** ISO 8601. Formatting takes ten times as long as reading the clock, and under load many lines share a millisecond. */
const isoTime = (): (() => string) => {
  let last = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

let standardOutput: DestinationStream | undefined

/** One per process, because each has a timer that flushes every 100 ms and never ends. */
const toStandardOutput = (): DestinationStream =>
  (standardOutput ??= destination({ dest: 1, sync: false, minLength: 8192, periodicFlush: 100 }))

/** Structured logs, one JSON object per line, without secrets. */
export const createLogger = ({ level, destination: stream }: LogOptions): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: isoTime(),
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    stream ?? toStandardOutput(),
  )
