import type { Duplex } from 'node:stream'
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

type Connected = (error: Error | null) => void

/** A client that closes its socket if connecting fails; without a password, `pg` would leave it to the server's timeout. */
export class ServerClient extends pg.Client {
  override connect(): Promise<pg.Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    if (callback === undefined) {
      return new Promise((resolve, reject) => this.connect((error) => (error === null ? resolve(this) : reject(error))))
    }
    super.connect((error: Error | null) => {
      if (error) (this as unknown as WithStream).connection.stream.destroy()
      callback(error ? namingThePassword(error) : null)
    })
    return undefined
  }
}

interface WithStream {
  readonly connection: { readonly stream: Duplex }
}

const namingThePassword = (error: Error): Error =>
  /client password must be/.test(error.message)
    ? new Error('the server requires a password, and SERVICE_DATABASE_URL contains none', { cause: error })
    : error

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
