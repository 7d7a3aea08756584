import { type DestinationStream, destination, type Logger, pino } from 'pino'

export interface LogOptions {
  /** A pino level, or 'silent'. */
  readonly level: string
  /** Where lines go; when absent, standard output, in blocks: a write per line would cost as much as the request. */
  readonly destination?: DestinationStream
}

const REDACTED = '[redacted]'

/** What the log calls a request that was answered. */
export const REQUEST = 'request'
const REQUEST_LINE_END = `"msg":"${REQUEST}"}\n`

// Not `code`: in an error that is the name of the fault, and login codes travel in queries and bodies only.
const SECRET_FIELD =
  /"(authorization|cookie|set-cookie|api_?key|(?:access_|refresh_)?token|password|secret|code_verifier)":"(?:[^"\\]|\\.)*"/gi
const KEY = /sk_live_\w+/g
const SECRET_QUERY = /([?&](?:code|key|token|access_token|api_key|password|secret|code_verifier)=)[^&#]*/gi

/** The path and query as they may be logged. */
export const loggableUrl = (url: string): string =>
  url.includes('?') ? url.replace(SECRET_QUERY, `$1${REDACTED}`) : url

/** Final check of a finished line: removes secrets, found by field name or by their format. */
const redact = (line: string): string => {
  // The one line of every request has none of these fields, and skipping it is worth a tenth of a heartbeat.
  const named = line.endsWith(REQUEST_LINE_END) ? line : line.replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
  return named.includes('sk_live_') ? named.replace(KEY, REDACTED) : named
}

/** ISO 8601. Formatting costs ten times as much as asking for the time, and under load many lines share a millisecond. */
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

/** One for the whole process, because each has a timer that flushes every 100 ms and never ends. */
const toStandardOutput = (): DestinationStream =>
  (standardOutput ??= destination({ dest: 1, sync: false, minLength: 8192, periodicFlush: 100 }))

/** Structured logs, one JSON object a line, without secrets. */
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
