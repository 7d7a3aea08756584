import { ServiceError } from './errors.ts'

/** From the file system: no space, or the user's quota is exceeded. From PostgreSQL: disk_full. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100'])
/** PostgreSQL reports exceeded quotas, and failures outside its tables, only in messages. */
const FULL_WORDS = /no space left on device|disk quota exceeded|could not extend file/i

/** Returns the response to a request that failed in any layer because the disk is full; undefined for other errors. */
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

const UNWRITABLE_CODES: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS'])
const FILE_CALLS = /^(open|access|l?stat|mk|rename|unlink|rm|link|copyfile|write|truncate|chmod|utime|scandir)/

/** The same because the service may not read or write its files, for example after their owner or the mount has changed. */
export const asUnwritable = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException
    if (!UNWRITABLE_CODES.has(code) || !FILE_CALLS.test(String(syscall))) continue
    return new ServiceError(
      'unavailable',
      "The service has no permission to read or write its files. Its operator must make the service's user their owner, and the disk writable.",
      { cause: error },
    )
  }
  return undefined
}

/**
 * PostgreSQL's connection exceptions (class 08), too many connections, the server's shutdown, crash and start (class 57P0x),
 * and Node's connection errors. Also timeouts, such as waiting for a row locked by a suspended process (55P03, 57014), and the
 * timeout of that process's own transaction when it resumes (25P03). A server that refuses the service's login (class 28) or
 * database (3D000), or that a failover has left read-only (25006), can be repaired. Source: PostgreSQL's appendix A, error codes.
 */
const AWAY_CODES =
  /^(08\w{3}|28\w{3}|3D000|25006|53300|57P0[1-5]|55P03|57014|25P03|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)$/
/** What is wrong, where it is not that the database does not respond. */
const AWAY_FAULTS: Readonly<Record<string, string>> = {
  '55P03': 'Another request, or a suspended process of the service, holds a lock that this request needs.',
  '25006': 'The database of the service is read-only, for example a standby after a failover.',
}
/** `pg` reports these only in messages: pool timeouts, connections that ended in the middle of a query, and failed logins. */
const AWAY_WORDS =
  /timeout exceeded when trying to connect|connection terminated|connection timeout|client has encountered a|^SASL: /i
const RETRY_AFTER_SECONDS = 2

/**
 * Returns the response to a request when the database is down, all connections are in use, or a lock is held too long; undefined
 * for other errors.
 */
export const asDatabaseAway = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (!AWAY_CODES.test(String(code)) && !AWAY_WORDS.test(cause.message)) continue
    const fault = AWAY_FAULTS[String(code)] ?? 'The database of the service does not respond.'
    return new ServiceError('unavailable', `${fault} Try again in a moment.`, {
      cause: error,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  return undefined
}

/**
 * Returns the response to a request that refers to something another request has just deleted (a foreign key violation,
 * PostgreSQL's 23503). Undefined for other errors. The field is read from the constraint's name, `<table>_<field>_fkey`: a server
 * may write its messages in any language. Nothing that requests delete is kept by a reference: those cascade or are set to null.
 */
export const asDeletedMeanwhile = (error: unknown): ServiceError | undefined => {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== '23503') return undefined
  const { table = '', constraint = '' } = error as { readonly table?: string; readonly constraint?: string }
  const field = constraint.slice(`${table}_`.length, -'_fkey'.length)
  return new ServiceError(
    'conflict',
    `Something that this request refers to was deleted while it ran${field === '' ? '' : ` (${field})`}. Check what still exists.`,
    { cause: error },
  )
}

/** True if the operation can succeed once the database, the file storage or the disk is available again. */
export const isUnavailable = (error: unknown): boolean =>
  (error instanceof ServiceError && ['unavailable', 'insufficient_storage'].includes(error.code)) ||
  asDiskFull(error) !== undefined ||
  asUnwritable(error) !== undefined ||
  asDatabaseAway(error) !== undefined
