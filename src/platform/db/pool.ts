import pg from 'pg'

const INT8 = 20
const NUMERIC = 1700

/**
 * Parses text from the database like `pg`, but bigint and numeric (which count(*) and sum() return) become numbers; our sizes
 * and counts stay below 2^53. Timestamps with time zone are Dates.
 */
export const parseValue = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 || oid === NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser

/**
 * When a connection breaks, `pg` emits 'error': for an idle one on the pool, for a busy one on the client. Without a listener,
 * Node would end the process. The running query is rejected anyway, and the pool opens another connection.
 */
export const ignoreBrokenConnections = (pool: pg.Pool): void => {
  pool.on('error', () => undefined)
  pool.on('connect', ignoreBroken)
}

/** Does the same for one connection. */
export const ignoreBroken = (client: pg.ClientBase): void => void client.on('error', () => undefined)
