import pg from 'pg'
import { ignoreBrokenConnections, parseValue, ServerClient } from './pool.ts'
import { StartError } from './start-error.ts'

/**
 * The settings of every session: limits, and settings that an administrator may have changed for the database or the role.
 * Transactions run SQL only, so one that is idle for 8 s belongs to a suspended process. Ending it before the lock timeout spares
 * the requests of other processes that wait for its locks. With much history the estimated costs of frequent queries that find
 * nothing are high, and compiling them (JIT) takes 100 times as long as running them.
 */
export const SESSION = `set timezone = 'UTC'; set statement_timeout = '30s'; set lock_timeout = '10s';
  set idle_in_transaction_session_timeout = '8s'; set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1; set standard_conforming_strings = on;
  set transform_null_equals = off; set array_nulls = on; set default_transaction_isolation = 'read committed'; set jit = off`

/** True on a standby, and with default_transaction_read_only. */
export const IS_READ_ONLY = `select current_setting('transaction_read_only')::boolean as is_read_only`

/**
 * Opens a pool of connections to a PostgreSQL server, and tests it at once.
 * @throws StartError naming SERVICE_DATABASE_URL and the server, never the password.
 */
export const openServer = async (url: string): Promise<pg.Pool> => {
  const pool = new pg.Pool({
    Client: ServerClient,
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: 'tributary',
    types: { getTypeParser: parseValue },
    // As a statement, not as connection options, which PgBouncer refuses.
    onConnect: async (client) => void (await client.query(SESSION)),
  })
  ignoreBrokenConnections(pool)
  let isReadOnly = false
  try {
    const { rows } = await pool.query<{ is_read_only: boolean }>(IS_READ_ONLY)
    isReadOnly = rows[0]?.is_read_only === true
  } catch (error) {
    await pool.end().catch(() => undefined)
    throw new StartError(
      `The PostgreSQL server that SERVICE_DATABASE_URL names (${withoutPassword(url)}) cannot be used: ` +
        `${reason(error)}. ${advice(error)}`,
    )
  }
  if (isReadOnly) {
    await pool.end()
    throw new StartError(
      `The PostgreSQL server that SERVICE_DATABASE_URL names (${withoutPassword(url)}) is read-only: it is a standby, or ` +
        'default_transaction_read_only is on. Promote it, turn that off, or correct the URL.',
    )
  }
  return pool
}

const reason = (error: unknown): string => {
  // Node tries every address of a host name and reports all failures together, with an empty message.
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first.message.replace(/\.$/, '') : String(first)
}

const TOO_MANY_CONNECTIONS = '53300'

const advice = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code === TOO_MANY_CONNECTIONS
    ? "Raise the server's max_connections, or close other connections: each process of the service takes up to 11."
    : 'Start it or correct the URL; without SERVICE_DATABASE_URL the embedded database is used.'

const withoutPassword = (url: string): string => {
  try {
    const { protocol, username, host, pathname, searchParams } = new URL(url)
    return `${protocol}//${username ? `${username}@` : ''}${host || (searchParams.get('host') ?? '')}${pathname}`
  } catch {
    return 'which is not a URL'
  }
}
