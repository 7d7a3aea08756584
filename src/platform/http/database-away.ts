import { ServiceError } from '../../domain/errors.ts'

/**
 * PostgreSQL's connection exceptions (class 08), too many connections, the server's shutdown, crash and start (class 57P0x), and
 * what Node says of a connection that cannot be made. Source: PostgreSQL's appendix A, error codes.
 */
const CODES = /^(08\w{3}|53300|57P0[1-5]|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)$/
/** `pg` tells these in words only: of its pool, and of a connection that ended in the middle of a query. */
const WORDS =
  /timeout exceeded when trying to connect|connection terminated|connection timeout|client has encountered a/i
const RETRY_AFTER_SECONDS = 2

/** The answer to a request that met no database: its server is away, or all connections are in use; undefined for other errors. */
export const asDatabaseAway = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (!CODES.test(String(code)) && !WORDS.test(cause.message)) continue
    return new ServiceError('unavailable', 'The database of the service does not respond. Try again in a moment.', {
      cause: error,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  return undefined
}
