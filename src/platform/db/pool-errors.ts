import type pg from 'pg'

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
