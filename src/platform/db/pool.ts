import pg from 'pg'

const INT8 = 20
const NUMERIC = 1700

/**
 * How text from the database becomes a value: like `pg`, but bigint and numeric (which count(*) and sum() return) are
 * numbers; our sizes and counts stay below 2^53. Timestamps with time zone are Dates.
 */
export const parseValue = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 || oid === NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser

/**
 * A connection that breaks makes `pg` emit 'error', idle on the pool and busy on the client, and Node ends the process
 * without a listener. The query that was running is rejected anyway, and the pool opens another connection.
 */
export const ignoreBrokenConnections = (pool: pg.Pool): void => {
  pool.on('error', () => undefined)
  pool.on('connect', ignoreBroken)
}

/** The same for one connection. */
export const ignoreBroken = (client: pg.ClientBase): void => void client.on('error', () => undefined)
