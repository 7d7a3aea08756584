import { ServiceError } from './errors.ts'

/** Of the file system: no space, or the user's quota is used up. Of PostgreSQL: disk_full. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100'])
/** PostgreSQL tells a quota, and what it meets outside its tables, in words only. */
const FULL_WORDS = /no space left on device|disk quota exceeded|could not extend file/i

/** The answer to a request that failed because the disk is full, in whatever layer; undefined for other errors. */
export const asDiskFull = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!FULL_CODES.has((cause as NodeJS.ErrnoException).code) && !FULL_WORDS.test(cause.message)) continue
    return new ServiceError(
      'insufficient_storage',
      'The disk of the service is full: nothing was stored. Try again once its operator has freed space.',
      { cause: error },
    )
  }
  return undefined
}

/**
 * PostgreSQL's connection exceptions (class 08), too many connections, the server's shutdown, crash and start (class 57P0x), and
 * what Node says of a connection that cannot be made; and what has waited too long, such as for a row that a stopped process has
 * locked (55P03, 57014), and that process's own transaction when it wakes (25P03). Source: PostgreSQL's appendix A, error codes.
 */
const AWAY_CODES =
  /^(08\w{3}|53300|57P0[1-5]|55P03|57014|25P03|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)$/
/** `pg` tells these in words only: of its pool, and of a connection that ended in the middle of a query. */
const AWAY_WORDS =
  /timeout exceeded when trying to connect|connection terminated|connection timeout|client has encountered a/i
const RETRY_AFTER_SECONDS = 2

/** The answer to a request that met no database: its server is away, or all connections are in use; undefined for other errors. */
export const asDatabaseAway = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (!AWAY_CODES.test(String(code)) && !AWAY_WORDS.test(cause.message)) continue
    return new ServiceError('unavailable', 'The database of the service does not respond. Try again in a moment.', {
      cause: error,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  return undefined
}

/**
 * The answer to a request about something that another one deleted meanwhile: a row was to refer to it (PostgreSQL's 23503). Undefined
 * for other errors.
 */
export const asDeletedMeanwhile = (error: unknown): ServiceError | undefined => {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== '23503') return undefined
  const detail = 'detail' in error ? String(error.detail) : ''
  const table = / is not present in table "(\w+)"/.exec(detail)?.[1]
  if (table === undefined) return undefined
  return new ServiceError(
    'conflict',
    `Something that this request refers to was deleted while it ran (in ${table}). Check what still exists.`,
    { cause: error },
  )
}

/** Whether what failed will work once the database, the file storage or the disk is there again. */
export const isUnavailable = (error: unknown): boolean =>
  (error instanceof ServiceError && ['unavailable', 'insufficient_storage'].includes(error.code)) ||
  asDiskFull(error) !== undefined ||
  asDatabaseAway(error) !== undefined
